"""`agent-evo lineage`: ranges of rounds, archived with what they saw, proposed and decided."""

import json
from typing import Annotated

import typer
from rich.table import Column, Table

from agent_evo_dagster.cli.package_views import tell_frozen
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.rounds.archive import archive_rounds, parse_rounds, read_about, verify_archive
from agent_evo_dagster.skills.packages.ids import Kind, PackageId
from agent_evo_dagster.skills.packages.registry import read_registry
from agent_evo_dagster.skills.packages.use import require_whole

app = typer.Typer(
    no_args_is_help=True,
    help="Archives of rounds: make, show, verify.",
    epilog="Exit codes: 0 all is well; 1 refused or damaged; 2 wrong command line.",
)
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the archive.")]


@app.command()
def archive(
    name: _Name,
    *,
    rounds: Annotated[str, typer.Option("--rounds", help="Numbers such as 1,2,5 or a range such as 1-5.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be archived only.")] = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Freeze finished rounds: statuses, reports, decisions, events, patches, lineage."""
    held = opened(bank)
    frozen = archive_rounds(current_settings(), name, parse_rounds(rounds), into=held.path, dry_run=dry_run)
    package = PackageId(Kind.LINEAGE, name)
    raise typer.Exit(tell_frozen(held, package, frozen, dry_run=dry_run, as_json=as_json))


@app.command()
def show(name: _Name, bank: Bank = None, as_json: Json = False) -> None:
    """Show the rounds of an archive, and what was decided in each."""
    held, package = opened(bank), _package(name)
    about = read_about(require_whole(held.path, read_registry(held.path), package))
    if as_json:
        typer.echo(about.model_dump_json())
        return
    table = Table("round", "events", "held-out accuracy", Column("decisions", overflow="fold"))
    for key, item in about.rounds.items():
        accuracy = f"{_shown(item.accuracy_before)} -> {_shown(item.accuracy_after)}"
        told = ", ".join(f"{patch}: {verdict}" for patch, verdict in item.decisions.items())
        table.add_row(key, str(item.events), accuracy, told or "no patch")
    screen().print(table)


@app.command()
def verify(name: _Name, bank: Bank = None, as_json: Json = False) -> None:
    """Check every hash of an archive, its statuses and its chain of decisions; exit 1 where one is wrong."""
    problems = verify_archive(_package(name).path(opened(bank).path))
    if as_json:
        typer.echo(json.dumps({"whole": not problems, "problems": problems}))
    else:
        typer.echo("\n".join(problems) or f"{name} is as it was frozen")
    raise typer.Exit(int(bool(problems)))


def _package(name: str) -> PackageId:
    return PackageId(Kind.LINEAGE, name.removeprefix(f"{Kind.LINEAGE.folder}/"))


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"
