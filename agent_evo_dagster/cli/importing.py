"""`agent-evo import`: recorded sessions become part of the spool."""

from pathlib import Path
from typing import Annotated

import typer

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.cli.project import current_settings

_Source = Annotated[Path, typer.Argument(metavar="PATH", help="A folder of recorded sessions, or one file.")]
_Spool = Annotated[
    Path | None, typer.Option("--spool", help="Spool to add to; default: the one that rounds read.")
]
_SHOWN = 5


def import_(source: _Source, spool: _Spool = None) -> None:
    """Bring recorded sessions into the spool, where the next round finds them; again, it adds what is new."""
    target = spool or spool_of_rounds()
    report = import_sessions(source, target)
    typer.echo(
        f"{report.files} files hold {len(report.sessions)} sessions: "
        f"{report.added_lines} lines added to {target}, {report.known_lines} were there already"
    )
    for path, why in report.skipped[:_SHOWN]:
        typer.echo(f"Passed over: {path}: {why}")
    if len(report.skipped) > _SHOWN:
        typer.echo(f"Passed over: {len(report.skipped) - _SHOWN} more files of other kinds")


def spool_of_rounds() -> Path:
    """The spool that rounds read: of the home that the environment names, else of the checkout."""
    return current_settings().spool
