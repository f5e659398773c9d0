"""`agent-evo task-package`: finished rounds, frozen so that they can be checked and trained again."""

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from agent_evo_dagster.cli.package_views import tell_frozen
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.rounds.finished import finished_round
from agent_evo_dagster.rounds.packaging import freeze_round
from agent_evo_dagster.rounds.reproduction import Reproduction
from agent_evo_dagster.rounds.reproduction import reproduce as train_again
from agent_evo_dagster.rounds.verification import TaskPackage, Verified, verify_task
from agent_evo_dagster.settings import read_settings
from agent_evo_dagster.skills.packages.frozen import INDEX
from agent_evo_dagster.skills.packages.ids import Kind, PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import read_registry

DIFFERS = 3

app = typer.Typer(
    no_args_is_help=True,
    help="Finished rounds, frozen: list, show, freeze, verify, reproduce.",
    epilog="Exit codes: 0 all is well; 1 refused or damaged; 2 wrong command line; "
    "3 (reproduce) other bytes came out.",
)

_Package = Annotated[
    str, typer.Argument(metavar="PACKAGE", help="Its id or name, or the folder of one that was copied.")
]


@app.command("list")
def list_(bank: Bank = None, as_json: Json = False) -> None:
    """List the task packages of the bank."""
    held = opened(bank).path
    names = [name for name, entry in read_registry(held).packages.items() if entry.kind is Kind.TASK]
    if as_json:
        typer.echo(json.dumps(names))
        return
    if not names:
        screen().print("No round is frozen yet. Run one: agent-evo rounds run")
        return
    rows = []
    for name in names:
        about = TaskPackage(parse_id(name).path(held)).about
        seed, checkpoint = str(about.training_seed), str(about.checkpoint_sha256)[:12]
        rows.append([name, about.round, seed, about.bank_hash[:12], checkpoint])
    show_rows(screen(), ("package", "round", "seed", "skills", "checkpoint"), rows)


@app.command()
def show(package: _Package, bank: Bank = None) -> None:
    """Print what a package is, as JSON: seeds, hashes, dataset, versions, hardware."""
    _, path = _located(bank, package)
    typer.echo(TaskPackage(path).about.model_dump_json(indent=2))


@app.command()
def freeze(
    key: Annotated[str, typer.Argument(metavar="ROUND", help="A finished round, such as round-0001.")],
    *,
    name: Annotated[str | None, typer.Option("--name", help="Default: that of the round.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be frozen only.")] = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Freeze a finished round; a round does so itself at its end."""
    held = opened(bank)
    frozen = freeze_round(held.path, finished_round(current_settings(), key), name=name, dry_run=dry_run)
    package = PackageId(Kind.TASK, frozen.path.name)
    raise typer.Exit(tell_frozen(held, package, frozen, dry_run=dry_run, as_json=as_json))


@app.command()
def verify(package: _Package, bank: Bank = None, as_json: Json = False) -> None:
    """Check every hash of a package, and that its parts belong together; exit 1 where they do not."""
    name, path = _located(bank, package)
    found = (*_registered(bank, name, path), *verify_task(path))
    bad = any(item.problem for item in found)
    if as_json:
        typer.echo(json.dumps({"whole": not bad, "checks": [dataclasses.asdict(item) for item in found]}))
        raise typer.Exit(int(bad))
    table = Table("checked", Column("result", overflow="fold"))
    for item in found:
        table.add_row(item.what, Text(item.problem or "as it was", style="red" if item.problem else "green"))
    screen().print(table)
    raise typer.Exit(int(bad))


@app.command()
def reproduce(
    package: _Package,
    *,
    into: Annotated[
        Path | None,
        typer.Option("--into", help="Fresh folder of the training; default: one that is removed."),
    ] = None,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Train again from the package alone, and compare checkpoint, metrics and rollouts byte for byte."""
    _, path = _located(bank, package)
    python = read_settings().trainer_python  # no home is needed: a copied package is enough
    if into is not None:
        done = train_again(path, into.absolute(), python=python)
    else:
        with tempfile.TemporaryDirectory() as folder:
            done = train_again(path, Path(folder) / "train", python=python)
    _tell(done, as_json=as_json)
    raise typer.Exit(0 if done.identical else DIFFERS)


def _tell(done: Reproduction, *, as_json: bool) -> None:
    if as_json:
        fields = {**dataclasses.asdict(done), "run_dir": None, "identical": done.identical}
        typer.echo(json.dumps(fields))
        return
    table = Table("file of the run", "bytes")
    for name in done.same:
        table.add_row(name, Text("the same", style="green"))
    for name in done.differing:
        table.add_row(name, Text("others", style="red"))
    console = Console(soft_wrap=True)
    console.print(table)
    then, now = done.reward
    console.print(Text(f"reward of the last step: {then} then, {now} now"))
    console.print(Text(done.told, style="green" if done.identical else "red"))


def _located(bank: Path | None, package: str) -> tuple[PackageId | None, Path]:
    """Id and folder of the package that a person names; one that was copied elsewhere has no id here."""
    folder = Path(package)
    if (folder / INDEX).is_file():
        return None, folder.resolve()
    name = parse_id(package if "/" in package else f"{Kind.TASK.folder}/{package}")
    path = name.path(opened(bank).path)
    if not (path / INDEX).is_file() and str(name) not in read_registry(opened(bank).path).packages:
        raise SkillBankError(
            f"The package {package!r} was asked for, and there is none: neither {path} nor the folder "
            f"{folder} holds {INDEX}. List what there is: agent-evo task-package list; or freeze a finished "
            f"round: agent-evo task-package freeze ROUND"
        )
    return name, path


def _registered(bank: Path | None, name: PackageId | None, path: Path) -> list[Verified]:
    """Whether a package of the bank is the one in its registry."""
    if name is None:
        return []
    entry = read_registry(opened(bank).path).packages.get(str(name))
    index = path / INDEX
    same = entry is not None and index.is_file() and sha256_file(index) == entry.sha256
    return [
        Verified("registry: the package that was registered", "" if same else "it is not in the registry")
    ]
