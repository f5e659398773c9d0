"""One record of a spool file becomes one event: hook records, and the older layout. No files, no lines."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agent_evo_dagster.capture.fields import FieldError, at_of, dump, iso_ns, number_of, text_of
from agent_evo_dagster.capture.types import Event, Layer, Source

Fields = Mapping[str, object]

_CALL_COLUMNS = ("tool_name", "tool_use_id", "tool_input", "tool_response", "error", "duration_ms")
HOOK_COLUMNS = frozenset(
    {"session_id", "agent_id", "agent_type", "prompt_id", "hook_event_name", *_CALL_COLUMNS}
)
HOOK_TEXTS = ("prompt", "last_assistant_message", "delta")
CALL_KINDS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})
LEGACY_KINDS = {"tool_call": "PostToolUse", "turn_end": "Stop", "conversation_end": "SubagentStop"}
LEGACY_COLUMNS = frozenset(["type", "session_id", "timestamp", "tool_name", "tool_input", "tool_response"])


class Place(NamedTuple):
    """Where a record stands, and the hash that is its identity."""

    file: str
    offset: int
    stem: str  # stands for the session where the record names none
    event_id: str


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """Calls without an id that have begun and not ended, so that both ends get the same derived id."""

    waiting: dict[str, list[str]] = field(default_factory=dict)

    def id_of(self, kind: str, call: str, event_id: str) -> str:
        """A derived id: a new one where a call begins, its latest open like where one ends."""
        if kind == "PreToolUse":
            self.waiting.setdefault(call, []).append(event_id)
            return f"derived-{event_id}"
        begun = self.waiting.get(call)
        return f"derived-{begun.pop() if begun else event_id}"


def event_of(record: object, place: Place, calls: OpenCalls) -> Event:
    """The event that a parsed line stands for.

    Raises:
        FieldError: it stands for none; the message says why.
    """
    if not isinstance(record, dict):
        raise FieldError(f"it is {'null' if record is None else 'a ' + type(record).__name__}, not an object")
    hook = record.get("hook")
    if isinstance(hook, dict):
        return _hook_event(record, hook, place, calls)
    if record.get("type") in LEGACY_KINDS:
        return _legacy_event(record, place)
    if "raw_base64" in record:
        raise FieldError(f"the hook received no JSON object: {text_of(record.get('reason'))}")
    raise FieldError("it is neither a hook record nor an event of the older layout")


def _hook_event(record: Fields, hook: Fields, place: Place, calls: OpenCalls) -> Event:
    get = hook.get
    derived: list[str] = []
    kind = get("hook_event_name")
    if not isinstance(kind, str):
        kind = _derive("kind", derived, text_of(kind) or text_of(record.get("event")) or "Unknown")
    session_id = get("session_id")
    if not isinstance(session_id, str):
        session_id = _derive("session_id", derived, text_of(session_id) or place.stem)
    tool_input, tool_response = _json(hook, "tool_input"), _json(hook, "tool_response")
    agent_id, tool_name = text_of(get("agent_id")), text_of(get("tool_name"))
    tool_use_id = text_of(get("tool_use_id"))
    text_name = next((name for name in HOOK_TEXTS if name in hook), None)
    if tool_use_id is None and kind in CALL_KINDS:
        call = "\0".join([session_id, agent_id or "", tool_name or "", tool_input or ""])
        tool_use_id = _derive("tool_use_id", derived, calls.id_of(kind, call, place.event_id))
    return Event(
        event_id=place.event_id,
        session_id=session_id,
        layer=Layer.UNKNOWN.value,
        agent_id=agent_id,
        agent_type=text_of(get("agent_type")),
        prompt_id=text_of(get("prompt_id")),
        kind=kind,
        at=at_of(record.get("captured_at")),
        tool_name=tool_name,
        tool_use_id=tool_use_id,
        tool_input=tool_input,
        tool_response=tool_response,
        error=text_of(get("error")),
        duration_ms=number_of(get("duration_ms")),
        text=text_of(get(text_name)) if text_name else None,
        extra=_extra(record, hook, text_name, kind),
        derived=derived,
        source=Source.HOOK.value,
        source_file=place.file,
        source_offset=place.offset,
    )


def _legacy_event(record: Fields, place: Place) -> Event:
    """An event of the older layout, which knows no agent, no prompt and no call id."""
    get = record.get
    derived: list[str] = []
    kind = LEGACY_KINDS[str(get("type"))]
    session_id = get("session_id")
    if not isinstance(session_id, str):
        session_id = _derive("session_id", derived, text_of(session_id) or place.stem)
    timestamp = get("timestamp")
    if not isinstance(timestamp, str):
        raise FieldError("its timestamp is not ISO 8601 text")
    is_call = kind == "PostToolUse"
    return Event(
        event_id=place.event_id,
        session_id=session_id,
        layer=Layer.UNKNOWN.value,
        agent_id=None,
        agent_type=None,
        prompt_id=None,
        kind=kind,
        at=iso_ns(timestamp),
        tool_name=text_of(get("tool_name")),
        tool_use_id=_derive("tool_use_id", derived, f"derived-{place.event_id}") if is_call else None,
        tool_input=_json(record, "tool_input"),
        tool_response=_json(record, "tool_response"),
        error=None,
        duration_ms=None,
        text=None,
        extra=dump({name: value for name, value in record.items() if name not in LEGACY_COLUMNS}),
        derived=derived,
        source=Source.LEGACY.value,
        source_file=place.file,
        source_offset=place.offset,
    )


def _derive(column: str, derived: list[str], value: str) -> str:
    """Note that the record lacks `column`."""
    derived.append(column)
    return value


def _json(fields: Fields, name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else dump(value)


def _extra(record: Fields, hook: Fields, text_name: str | None, kind: str) -> str | None:
    """JSON text of what has no column of its own."""
    extra = {name: value for name, value in hook.items() if name not in HOOK_COLUMNS and name != text_name}
    if len(record) > 2:
        known = {"captured_at", "hook"} | ({"event"} if record.get("event") == kind else set())
        beside = {name: value for name, value in record.items() if name not in known}
        if beside:
            extra["record"] = beside
    return dump(extra) if extra else None


def identity(content: bytes) -> str:
    """The id of the event that a record's bytes, after redaction, stand for."""
    return hashlib.sha256(content).hexdigest()[:32]
