"""Claude Code's settings: what of them is ours, and what our hook is. Not how the file's text is edited."""

import json
from collections.abc import Iterator
from pathlib import Path

from agent_evo_dagster.errors import CaptureError

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


def hooks_of(settings: JsonObject) -> dict[str, list[Json]]:
    """The groups of each event kind."""
    found = settings.get("hooks", {})
    assert isinstance(found, dict)  # by load
    return found


def entries_of(group: Json) -> list[Json]:
    """The hooks of one group; a group of another shape is someone else's."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def is_own(entry: Json) -> bool:
    """Whether an entry is our hook."""
    return isinstance(entry, dict) and _OWN in str(entry.get("command"))


def own_commands(settings: JsonObject) -> Iterator[tuple[str, str]]:
    """Event kind and command of each of our hooks."""
    for kind, groups in hooks_of(settings).items():
        for group in groups:
            for entry in entries_of(group):
                if isinstance(entry, dict) and is_own(entry):
                    yield kind, str(entry["command"])


def has_own(settings: JsonObject) -> bool:
    """Whether our hook is in the settings."""
    return any(True for _ in own_commands(settings))


def wanted_group(command: str) -> JsonObject:
    """The group that holds our hook alone."""
    return {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}


def mode(path: Path) -> int:
    """Permissions of a file; the usual ones for a new one."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o644
