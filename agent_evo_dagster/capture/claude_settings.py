"""Claude Code's settings file: its JSON with our hook in it, and without. Not where it lies."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import write_atomic

KINDS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
)
TIMEOUT = 10  # seconds until the client ends the hook; the script ends by itself before that

_OWN = "/hooks/agent_evo/capture.py"  # in a command: it is ours

Json = object
JsonObject = dict[str, Json]


def load(path: Path) -> JsonObject | None:
    """The settings; None where there is no file.

    Raises:
        CaptureError: they are not what the client itself would accept.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CaptureError(
            f"The settings file {path} cannot be read ({error}). Nothing was changed."
        ) from error
    try:
        settings = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise CaptureError(
            f"The settings file {path} is not valid JSON ({error}). "
            "Nothing was changed: mend it, then try again."
        ) from error
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise CaptureError(
            f"The settings file {path} should be an object whose `hooks` maps event names to lists. "
            "Nothing was changed: mend it, then try again."
        )
    return settings


def _unique(pairs: list[tuple[str, Json]]) -> JsonObject:
    """An object; one with a name twice cannot be written back."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name in found if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"it has the name {twice!r} twice in one object")
    return found


def _hooks(settings: JsonObject) -> dict[str, list[Json]]:
    found = settings.get("hooks", {})
    assert isinstance(found, dict)  # by _load
    return found


def _entries(group: Json) -> list[Json]:
    """The hooks of one group; a group of another shape is someone else's."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def _is_own(entry: Json) -> bool:
    return isinstance(entry, dict) and _OWN in str(entry.get("command"))


def own_commands(settings: JsonObject) -> Iterator[tuple[str, str]]:
    """Event kind and command of each of our hooks."""
    for kind, groups in _hooks(settings).items():
        for group in groups:
            for entry in _entries(group):
                if isinstance(entry, dict) and _is_own(entry):
                    yield kind, str(entry["command"])


def has_own(settings: JsonObject) -> bool:
    """Whether our hook is in the settings."""
    return any(True for _ in own_commands(settings))


def merged(settings: JsonObject, command: str) -> JsonObject:
    """The settings with our hook at every kind, after those of others; as they are where it is right."""
    wanted = {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}
    hooks = dict(_hooks(settings))
    for kind in KINDS:
        groups = hooks.get(kind, [])
        if [group for group in groups if any(_is_own(entry) for entry in _entries(group))] != [wanted]:
            hooks[kind] = [*_foreign(groups), wanted]
    return {**settings, "hooks": hooks}


def _foreign(groups: list[Json]) -> list[Json]:
    """The groups without our hook; a group that held nothing else goes."""
    kept: list[Json] = []
    for group in groups:
        entries = [entry for entry in _entries(group) if not _is_own(entry)]
        if len(entries) == len(_entries(group)):
            kept.append(group)
        elif entries and isinstance(group, dict):
            kept.append({**group, "hooks": entries})
    return kept


def without(settings: JsonObject) -> JsonObject:
    """The settings without our hook, and without what is empty then."""
    hooks = {kind: kept for kind, groups in _hooks(settings).items() if (kept := _foreign(groups))}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    # In its old place among the names, for whoever reads the difference.
    return {name: hooks if name == "hooks" else rest[name] for name in settings if name != "hooks" or hooks}


def write(path: Path, settings: JsonObject) -> None:
    """Write settings with the indent and the last line break that the file has."""
    held = path.read_text(encoding="utf-8") if path.exists() else "\n"
    indent = re.search(r'\n([ \t]+)"', held)
    text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False)
    write_atomic(path, (text + ("\n" if held.endswith("\n") else "")).encode(), mode=mode(path))


def mode(path: Path) -> int:
    """Permissions of a file; the usual ones for a new one."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o644
