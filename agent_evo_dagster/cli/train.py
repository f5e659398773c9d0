"""`agent-evo train`, and the same command under its old name: `agentic_rl train --config FILE`."""

import os
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.config import print_config
from agent_evo_dagster.cli.project import bank_of, launch, project_root, settings_of
from agent_evo_dagster.cli.rounds import JOBS, Anyway, Seed, Set, overrides
from agent_evo_dagster.cli.telling import told_to_people
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.files import sha256_bytes, write_atomic
from agent_evo_dagster.rounds.configuration import asked_config, require_understood
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.training.config_file import ConfigFile, read_config_file

DEPLOYMENT = "AGENT_EVO_DEPLOYMENT"

Config = Annotated[
    Path | None,
    typer.Option("--config", "--config-path", help="YAML or JSON file, in our keys or those of agentic_rl."),
]


def train(
    request: Annotated[
        str, typer.Argument(help="What to train, in plain language (English or Chinese); or the file.")
    ] = "",
    *,
    config: Config = None,
    set_: Set = None,
    seed: Seed = 0,
    control: Annotated[
        bool, typer.Option("--control", help="Learn nothing (learning_rate 0): what a run is compared with.")
    ] = False,
    anyway: Anyway = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be trained, no more.")] = False,
) -> None:
    """Open a round and run its training: settings of skills, of the file, of the request, of flags."""
    root = project_root()
    settings = settings_of(root)
    if config is None and _names_file(request):
        config, request = Path(request), ""
    file = read_config_file(config) if config else ConfigFile()
    if request and file.request:
        raise SettingsError(f"{config} has a request, and another was given. Leave one of them out.")
    given = {**overrides(set_ or ()), **({"learning_rate": 0.0} if control else {})}
    ask = RoundRequest(
        request or file.request, seed, given, allow_empty=True, config_file=file.settings, anyway=anyway
    )
    console = Console(soft_wrap=True)
    found = asked_config(SkillBank.open(bank_of(settings, root)), ask.request, given, file.settings)
    print_config(console, found, everything=False)
    if not (dry_run or anyway):
        require_understood(found, ask.request)
    for name, why in file.notes.items():
        console.print(Text(f"{name}: {why}", style="dim"))
    _deploy(settings, file, dry_run=dry_run, console=console)
    if dry_run:
        return
    manifest = open_round(settings, root / "skill_bank", ask)
    code = launch(root, settings, manifest.key, JOBS["training"])
    if code == 0:
        console.print(
            f"Trained {manifest.key}. Go on to findings and patches: agent-evo rounds run {manifest.key}"
        )
    raise typer.Exit(code)


def _names_file(request: str) -> bool:
    """Whether it is one word that ends as configuration files do: no sentence does."""
    return len(request.split()) == 1 and Path(request).suffix in (".json", ".yaml", ".yml")


def _deploy(settings: Settings, file: ConfigFile, *, dry_run: bool, console: Console) -> None:
    """Keep what a file says of machines below the home, and have the run read it."""
    if not file.deployment:
        return
    if os.environ.get(DEPLOYMENT):
        raise SettingsError(
            f"{DEPLOYMENT} names a deployment, and the configuration file has one too. Leave one of them out."
        )
    from agent_evo_dagster.training.deployment import read_deployment

    text = yaml.safe_dump(file.deployment, sort_keys=True)
    path = settings.root / "deployments" / f"{sha256_bytes(text.encode())[:16]}.yaml"
    if not dry_run:
        write_atomic(path, text.encode())
        read_deployment(path)
        os.environ[DEPLOYMENT] = str(path)
    console.print(Text(f"deployment: {text.strip()}", style="dim"))


alias = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The old name of agent-evo train.",
)
alias.command("train")(train)


@alias.callback()
def _commands() -> None:
    """The old name of agent-evo train."""


def agentic_rl() -> None:
    """Run the command under its old name."""
    told_to_people("agentic_rl", alias)
