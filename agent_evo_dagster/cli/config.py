"""`agent-evo config`: what a round would train with, without opening one."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.project import bank_of, current_settings, project_root
from agent_evo_dagster.cli.rounds import Set, overrides
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.rounds.configuration import asked_config
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_file import ConfigFile, read_config_file
from agent_evo_dagster.training.config_sources import ResolvedConfig, SettingRow

NOT_UNDERSTOOD = 3

app = typer.Typer(no_args_is_help=True, help="Training settings: check what a round would train with.")


@app.callback()
def config() -> None:
    """Training settings: check what a round would train with."""


@app.command()
def check(
    request: Annotated[
        str, typer.Argument(help="What to train, in plain language (English or Chinese).")
    ] = "",
    *,
    set_: Set = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All settings, not only those asked for.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="YAML or JSON file, as agent-evo train takes it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Show each setting with its source and reason; exit 1 if refused, 3 if words were not understood."""
    settings = current_settings()
    file = read_config_file(config) if config else ConfigFile()
    bank = SkillBank.open(bank_of(settings, project_root()))
    found = asked_config(bank, request or file.request, overrides(set_ or ()), file.settings)
    if as_json:
        typer.echo(json.dumps(_fields(found)))
    else:
        print_config(Console(soft_wrap=True), found, everything=everything)
    raise typer.Exit(NOT_UNDERSTOOD if found.ignored else 0)


def rollouts(config: TrainingConfig) -> tuple[int, int]:
    """Rollouts of the training, and of the evaluation before and after it."""
    training = config.max_steps * config.prompts_per_step * config.num_generations
    return training, 2 * config.evaluation_tasks * (config.evaluation_samples + 1)


def remarks(config: TrainingConfig) -> list[str]:
    """What is allowed, and seldom meant."""
    found = []
    if config.max_completion_length < config.max_new_tokens:
        found.append(
            f"max_completion_length {config.max_completion_length} ends a rollout before max_new_tokens "
            f"{config.max_new_tokens} end its first turn"
        )
    if config.num_generations < 4:
        found.append("num_generations below 4: most groups are all right or all wrong and teach nothing")
    if config.learning_rate == 0:
        found.append("learning_rate 0 is the control: nothing is learnt")
    if config.warmup_steps >= config.max_steps:
        found.append(
            f"warmup_steps {config.warmup_steps} of {config.max_steps}: the learning rate is never reached"
        )
    return found


def print_config(console: Console, found: ResolvedConfig, *, everything: bool) -> None:
    """What of the request was not understood, and a table of the settings with their sources."""
    if found.ignored:
        console.print(Text(f"not understood: {found.ignored}", style="bold yellow"))
    asked = [row for row in found.rows if row.source in ("file", "request", "override")]
    given = asked or [row for row in found.rows if row.source == "skill"]
    shown = found.rows if everything else given
    names = ("setting", "value", "source", "why")
    rows: list[list[str | Text]] = [
        [row.name, Text(str(row.value)), Text(f"{row.source}: {row.origin}"), Text(row.why)] for row in shown
    ]
    show_rows(console, names, rows, folded=("value", "source", "why"))
    counts = Counter(row.source for row in found.rows)
    console.print(Text(", ".join(f"{count} by {source}" for source, count in counts.items())))
    training, evaluation = rollouts(found.config)
    console.print(Text(f"{training:,} rollouts to train, {evaluation:,} to evaluate"))
    for remark in remarks(found.config):
        console.print(Text(f"note: {remark}", style="yellow"))


def _fields(found: ResolvedConfig) -> dict[str, object]:
    training, evaluation = rollouts(found.config)
    return {
        "settings": [_row(row) for row in found.rows],
        "rollouts": {"training": training, "evaluation": evaluation},
        "notes": remarks(found.config),
        "not_understood": found.ignored or None,
    }


def _row(row: SettingRow) -> dict[str, object]:
    return {
        "name": row.name,
        "value": row.value,
        "source": row.source,
        "origin": row.origin,
        "why": row.why,
    }
