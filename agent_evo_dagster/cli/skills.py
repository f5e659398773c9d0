"""`agent-evo skills`: compile, compare, check, squash, roll back and export the skills of a bank."""

from pathlib import Path
from typing import Annotated

import typer

from agent_evo_dagster.cli import packages, skill_export, skill_history, skill_tasks
from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.cli.skill_views import (
    Selection,
    compile_selected,
    show_diff,
    show_problems,
    show_states,
    squash_selected,
)
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.skills.schemas import published_schemas

_EXIT_CODES = (
    "Exit codes: 0 all is well; 1 refused, or a skill is invalid; 2 wrong command line; "
    "3 (diff, status) files and bank differ."
)

app = typer.Typer(
    no_args_is_help=True,
    help="The skills of the bank: compile, diff, status, validate, squash, roll back, export.",
    epilog=_EXIT_CODES,
)
app.add_typer(packages.app, name="packages")
app.command("patch")(skill_history.patch)
app.command("versions")(skill_history.list_versions)
app.command("rollback")(skill_history.rollback)
app.command("export")(skill_export.export)
app.command("tasks")(skill_tasks.tasks)

_Skill = Annotated[str | None, typer.Argument(help="One skill.")]
_Group = Annotated[str | None, typer.Option("--group", help="All skills of one group.")]
_All = Annotated[bool, typer.Option("--all", help="All skills.")]
_Profile = Annotated[
    str | None,
    typer.Option("--profile", "-p", help="With the patches of this profile, where a skill has it."),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written only.")]


@app.command("compile")
def compile_(
    skill: _Skill = None,
    *,
    group: _Group = None,
    everything: _All = False,
    profile: _Profile = None,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Write the SKILL.md of one skill, a group or all: all or nothing, and only what changed."""
    chosen = Selection(skill, group, everything, profile)
    raise typer.Exit(compile_selected(opened(bank), chosen, dry_run=dry_run, as_json=as_json))


@app.command()
def diff(
    skill: _Skill = None,
    *,
    group: _Group = None,
    everything: _All = False,
    profile: _Profile = None,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Show what compiling would change; exit 3 where it would. Without a skill or group: all.

    New links, commands and fields of the front matter are listed below the diff.
    """
    chosen = Selection(skill, group, everything or (skill is None and group is None), profile)
    raise typer.Exit(show_diff(opened(bank), chosen, as_json=as_json))


@app.command()
def status(profile: _Profile = None, bank: Bank = None, as_json: Json = False) -> None:
    """Show how each SKILL.md compares with the bank, and its length; exit 3 where one is not current."""
    raise typer.Exit(show_states(opened(bank), profile=profile, as_json=as_json))


@app.command()
def validate(bank: Bank = None, as_json: Json = False) -> None:
    """Show everything that is wrong with the skills; exit 1 where one cannot be compiled."""
    raise typer.Exit(show_problems(opened(bank), as_json=as_json))


@app.command()
def squash(
    skill: _Skill = None,
    *,
    group: _Group = None,
    everything: _All = False,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Make the active patches part of base.md; every SKILL.md stays the same, byte for byte."""
    chosen = Selection(skill, group, everything)
    raise typer.Exit(squash_selected(opened(bank), chosen, dry_run=dry_run, as_json=as_json))


@app.command()
def schemas(folder: Annotated[Path, typer.Argument(help="Folder to write them to.")]) -> None:
    """Write the JSON Schemas of the files of a bank and its packages, for editors and other tools."""
    for name, text in published_schemas().items():
        write_atomic(folder / name, text.encode())
        typer.echo(f"wrote {folder / name}")
