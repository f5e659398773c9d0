"""`agent-evo hooks`: the capture hook in a project's or a user's Claude Code settings."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_evo_dagster.capture.capturing import capturers
from agent_evo_dagster.capture.claude_settings import KINDS
from agent_evo_dagster.capture.hook_settings import (
    Place,
    install,
    script_source,
    spool_of,
    status,
    uninstall,
)
from agent_evo_dagster.capture.interpreter import real_interpreter
from agent_evo_dagster.capture.losses import losses
from agent_evo_dagster.cli.importing import spool_of_rounds
from agent_evo_dagster.errors import CaptureError, SettingsError

app = typer.Typer(
    name="hooks", help="Capture what Claude Code does in a project, or stop it.", no_args_is_help=True
)

_Project = Annotated[
    Path | None, typer.Option("--project", help="Project whose sessions are meant; default: this folder.")
]
_User = Annotated[bool, typer.Option("--user", help="All sessions of this user, in every project.")]
_Spool = Annotated[
    Path | None, typer.Option("--spool", help="Folder for the records; default: the one that rounds read.")
]
_Python = Annotated[
    Path | None, typer.Option("--python", help="Python that runs the hook; default: the one of this command.")
]


@app.command("install")
def install_hooks(
    project: _Project = None, user: _User = False, spool: _Spool = None, python: _Python = None
) -> None:
    """Add the capture hook to the settings; what is there stays."""
    place = _place(project, user)
    target = spool or _spool_of_rounds(None if user else place.claude.parent)
    interpreter = real_interpreter(python or Path(sys.executable))
    changed = install(place, script=script_source(), interpreter=interpreter, spool=target)
    typer.echo(f"{'Installed' if changed else 'Already installed'}: {len(KINDS)} events in {place.settings}")
    typer.echo(f"Records go to {_shown(target, place, user)}. Sessions that start from now on are captured.")
    _warn_of_several(place, user)


@app.command("uninstall")
def uninstall_hooks(project: _Project = None, user: _User = False) -> None:
    """Take the capture hook out again; what was captured stays."""
    place = _place(project, user)
    typer.echo(f"{'Removed from' if uninstall(place) else 'Nothing to remove in'} {place.settings}")


@app.command("status")
def hooks_status(project: _Project = None, user: _User = False) -> None:
    """Show what is captured, and what was lost; exit code 1 if some events are not captured."""
    place = _place(project, user)
    found = status(place)
    if found.command is None:
        others = capturers(client_folder(), None if user else place.claude)
        told = "".join(f" {one} captures." for one in others) or f" To capture: {_install(project, user)}"
        typer.echo(f"Not installed in {place.settings}.{told}")
        raise typer.Exit(0 if others else 1)
    target = spool_of(found.command)
    typer.echo(f"{len(found.installed)} of {len(KINDS)} events are captured, by {place.settings}")
    typer.echo(f"Records go to {_shown(target, place, user)}")
    for kind in found.missing:
        typer.echo(f"Not captured: {kind}")
    for problem in found.problems:
        typer.echo(f"Problem: {problem}")
    lost = losses(target or place.claude.parent / ".agent_evo" / "spool")
    typer.echo(f"Lost: {lost.lost}; kept in the fallback file: {lost.fallback}")
    _warn_of_several(place, user)
    if found.missing or found.problems:
        typer.echo(f"To repair: {_install(project, user)}")
        raise typer.Exit(1)


def _warn_of_several(place: Place, user: bool) -> None:
    """Two capture each event twice, which costs the client twice the time."""
    found = capturers(client_folder(), None if user else place.claude)
    if len(found) > 1:
        typer.echo(f"Problem: each event is captured {len(found)} times, by {', '.join(found)}. Keep one.")


def client_folder() -> Path:
    """Where the client keeps what is the user's own."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude").absolute()


def _install(project: Path | None, user: bool) -> str:
    """The command that installs in the same place."""
    where = f" --project {shlex.quote(str(project))}" if project else " --user" if user else ""
    return f"agent-evo hooks install{where}"


def _place(project: Path | None, user: bool) -> Place:
    if user and project is not None:
        raise CaptureError(
            "Both --project and --user were given. Name one: they are different settings files."
        )
    if user:
        return Place(client_folder())
    folder = (project or Path()).resolve()
    if not folder.is_dir():
        raise CaptureError(
            f"The project {folder} is not a folder. Name the folder that Claude Code works in."
        )
    return Place(folder / ".claude")


def _spool_of_rounds(project: Path | None) -> Path | None:
    """The spool that rounds read; None where that is the project's own, or where no checkout tells."""
    try:
        spool = spool_of_rounds()
    except SettingsError:
        return None
    return None if project is not None and spool == project / ".agent_evo" / "spool" else spool


def _shown(spool: Path | None, place: Place, user: bool) -> str:
    if spool is not None:
        return str(spool)
    return ".agent_evo/spool of each project" if user else str(place.claude.parent / ".agent_evo" / "spool")
