"""The installation of the capture hook in a project or for a user, and its removal. Not what it captures.

An installation copies the script into `.claude/hooks/agent_evo/`, so that it outlives virtual environments,
and names it in `.claude/settings.json` by absolute paths. What the file held before is kept beside it:
taking the hook out gives back the same bytes, unless someone else has changed the file since.
"""

import contextlib
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.capture.claude_settings import (
    KINDS,
    has_own,
    hooks_of,
    load,
    mode,
    own_commands,
)
from agent_evo_dagster.capture.settings_text import with_hook, without_hook
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import write_atomic


@dataclass(frozen=True, slots=True)
class Place:
    """The `.claude` folder of a project or a user, with the files of an installation."""

    claude: Path

    @property
    def settings(self) -> Path:
        """The settings file; where it is a link, the file that it leads to."""
        return (self.claude / "settings.json").resolve()

    @property
    def folder(self) -> Path:
        """What an installation adds beside the settings."""
        return self.claude / "hooks" / "agent_evo"

    @property
    def script(self) -> Path:
        """The installed hook."""
        return self.folder / "capture.py"

    @property
    def before(self) -> Path:
        """The settings file as it was."""
        return self.folder / "settings.before.json"


@dataclass(frozen=True, slots=True)
class HookStatus:
    """What is installed at a place."""

    installed: tuple[str, ...]  # event kinds that call the hook
    missing: tuple[str, ...]  # event kinds that do not
    problems: tuple[str, ...]  # why events are not captured although the hook is named
    command: str | None


def install(place: Place, *, script: bytes, interpreter: Path, spool: Path | None) -> bool:
    """Have every event captured; False when all was in place already.

    Args:
        place: Where to install.
        script: The hook script's bytes.
        interpreter: A real Python, by absolute path: a version manager's shim costs 100 ms an event.
        spool: Where records go; None: by the hook's environment, else into the project.

    Raises:
        CaptureError: the settings file cannot be understood; nothing is changed.
    """
    held, text = load(place.settings), _text(place.settings)
    wanted = with_hook(text, command_of(interpreter, place.script, spool))
    current = place.script.exists() and place.script.read_bytes() == script
    if current and wanted == text:
        return False
    if not place.before.exists() and not has_own(held or {}):
        _remember(place)
    write_atomic(place.script, script)
    if wanted != text:
        write_atomic(place.settings, wanted.encode(), mode=mode(place.settings))
    return True


def uninstall(place: Place) -> bool:
    """Take the hook out and give back what was there before; False when nothing was installed.

    Raises:
        CaptureError: the settings file cannot be understood; nothing is changed.
    """
    held = load(place.settings)
    if not has_own(held or {}) and not place.folder.exists():
        return False
    if held is not None and has_own(held):
        _restore(place)
    _remove_files(place)
    return True


def status(place: Place) -> HookStatus:
    """What is installed, and whether it can work.

    Raises:
        CaptureError: the settings file cannot be understood.
    """
    commands = dict(own_commands(load(place.settings) or {}))
    command = next(iter(commands.values()), None)
    return HookStatus(
        installed=tuple(kind for kind in KINDS if kind in commands),
        missing=tuple(kind for kind in KINDS if kind not in commands),
        problems=tuple(_problems(commands)),
        command=command,
    )


def command_of(interpreter: Path, script: Path, spool: Path | None) -> str:
    """The command line of the hook.

    It tests its files first: a Python that cannot find its script ends with status 2, which means "block" to
    the client, and would stop the agent at every call.
    """
    python, file = shlex.quote(str(interpreter)), shlex.quote(str(script.absolute()))
    option = f" --spool {shlex.quote(str(spool.absolute()))}" if spool is not None else ""
    return f"[ -x {python} ] && [ -r {file} ] || exit 0; exec {python} -I -S {file}{option}"


def spool_of(command: str) -> Path | None:
    """The spool that an installed command names."""
    _, named, rest = command.partition(" --spool ")
    return Path(shlex.split(rest)[0]) if named else None


def script_source() -> bytes:
    """The hook script, from the wheel that holds a copy, else from the checkout."""
    places = (Path(__file__).with_name("hook_script.py"), Path(__file__).parents[2] / "hooks" / "capture.py")
    for path in places:
        if path.is_file():
            return path.read_bytes()
    raise CaptureError(
        f"The hook script was looked for at {places[0]} and {places[1]}, and is at neither. "
        "Install the package again."
    )


def _problems(commands: Mapping[str, str]) -> Iterator[str]:
    for command in sorted(set(commands.values())):
        try:
            words = shlex.split(command)
            interpreter, script = Path(words[2]), Path(words[words.index("-S") + 1])
        except (ValueError, IndexError):
            yield f"the command was changed by hand: {command}"
            continue
        if not interpreter.is_file():
            yield f"the interpreter {interpreter} is gone"
        if not script.is_file():
            yield f"the script {script} is gone"


def _remember(place: Place) -> None:
    """Keep the settings file as it is, and which folders there are."""
    made = [str(path) for path in (place.folder.parent, place.claude) if not path.exists()]
    place.folder.mkdir(parents=True, exist_ok=True)
    write_atomic(place.folder / "made.json", json.dumps(made).encode())
    if place.settings.exists():
        write_atomic(place.before, place.settings.read_bytes(), mode=mode(place.settings))


def _restore(place: Place) -> None:
    """Take our hook out of the settings: every other byte stays, whoever wrote it."""
    before, text = load(place.before), _text(place.settings)
    made = (place.folder / "made.json").exists()
    if made and text == with_hook(_text(place.before), _command(text)):  # no one else has changed it
        if place.before.exists():
            write_atomic(place.settings, place.before.read_bytes(), mode=mode(place.settings))
        else:
            place.settings.unlink()
        return
    keep = ["hooks", *hooks_of(before)] if before and "hooks" in before else []
    write_atomic(place.settings, without_hook(text, keep=keep).encode(), mode=mode(place.settings))


def _command(text: str) -> str:
    """The command of our hook in settings that hold it."""
    return next(command for _, command in own_commands(json.loads(text)))


def _text(path: Path) -> str:
    """The text of a settings file, its line breaks as they are; nothing where there is no file."""
    return path.read_bytes().decode() if path.exists() else ""


def _remove_files(place: Place) -> None:
    """Remove what an installation added, and the folders that it made, if they are empty."""
    record = place.folder / "made.json"
    made = json.loads(record.read_bytes()) if record.exists() else []
    for path in (place.script, place.before, record):
        path.unlink(missing_ok=True)
    for folder in (
        place.folder,
        *(path for path in (place.folder.parent, place.claude) if str(path) in made),
    ):
        with contextlib.suppress(OSError):
            folder.rmdir()
