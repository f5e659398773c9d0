"""The quick path of reading: an ordinary record becomes its event without a parse of what it carries.

The JSON text of a call's input and response is taken over as it was captured. Whatever is not ordinary (no
text where text belongs, escapes by number, a call without an id) is left to records, which reads everything.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import orjson
import polars as pl

from agent_evo_dagster.capture.fields import at_of, iso_ns, number_of
from agent_evo_dagster.capture.records import (
    CALL_KINDS,
    HOOK_COLUMNS,
    HOOK_TEXTS,
    LEGACY_COLUMNS,
    LEGACY_KINDS,
    Place,
)
from agent_evo_dagster.capture.types import Event, Layer, Source

_Fields = Mapping[str, msgspec.Raw]
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_QUOTE: Final = 0x22
_RECORD: Final = frozenset({"captured_at", "hook"})
_NAMED_RECORD: Final = frozenset({"captured_at", "hook", "event"})
_HOOK: Final = Source.HOOK.value
_LEGACY: Final = Source.LEGACY.value
_UNKNOWN: Final = Layer.UNKNOWN.value


class _OddError(ValueError):
    """A field that the quick path does not read."""


def with_numbered_characters(lines: Sequence[bytes]) -> list[bool]:
    """Which lines have a character written by its number: their JSON text is written anew when it is read."""
    return pl.Series(lines, dtype=pl.Binary).bin.contains(b"\\u").to_list()


def quick_event(content: bytes, place: Place) -> Event | None:
    """The event that a line stands for; None where the line takes a closer look.

    The line is one of those that `with_numbered_characters` passed over.
    """
    try:
        record = _OBJECT.decode(content)
        if "hook" in record:
            return _hook_event(record, _OBJECT.decode(record["hook"]), place)
        return _legacy_event(record, place)
    except (msgspec.MsgspecError, RecursionError, KeyError, ValueError):
        return None


def _hook_event(record: _Fields, hook: _Fields, place: Place) -> Event:
    get = hook.get
    kind = _text(hook["hook_event_name"])
    session_id, tool_use_id = _text(hook["session_id"]), _text(get("tool_use_id"))
    is_known = record.keys() == _RECORD or (record.keys() == _NAMED_RECORD and _text(record["event"]) == kind)
    if not is_known or kind is None or session_id is None or (tool_use_id is None and kind in CALL_KINDS):
        raise _OddError
    text_name = next((name for name in HOOK_TEXTS if name in hook), None)
    return Event(
        event_id=place.event_id,
        session_id=session_id,
        layer=_UNKNOWN,
        agent_id=_text(get("agent_id")),
        agent_type=_text(get("agent_type")),
        prompt_id=_text(get("prompt_id")),
        kind=kind,
        at=at_of(orjson.loads(bytes(record["captured_at"]))),
        tool_name=_text(get("tool_name")),
        tool_use_id=tool_use_id,
        tool_input=_json(get("tool_input")),
        tool_response=_json(get("tool_response")),
        error=_text(get("error")),
        duration_ms=_number(get("duration_ms")),
        text=_text(hook[text_name]) if text_name else None,
        extra=_rest(hook, HOOK_COLUMNS, text_name),
        derived=[],
        source=_HOOK,
        source_file=place.file,
        source_offset=place.offset,
    )


def _legacy_event(record: _Fields, place: Place) -> Event:
    get = record.get
    kind = LEGACY_KINDS[str(_text(record["type"]))]
    session_id, timestamp = _text(record["session_id"]), _text(record["timestamp"])
    if session_id is None or timestamp is None:
        raise _OddError
    is_call = kind == "PostToolUse"
    return Event(
        event_id=place.event_id,
        session_id=session_id,
        layer=_UNKNOWN,
        agent_id=None,
        agent_type=None,
        prompt_id=None,
        kind=kind,
        at=iso_ns(timestamp),
        tool_name=_text(get("tool_name")),
        tool_use_id=f"derived-{place.event_id}" if is_call else None,
        tool_input=_json(get("tool_input")),
        tool_response=_json(get("tool_response")),
        error=None,
        duration_ms=None,
        text=None,
        extra=_rest(record, LEGACY_COLUMNS, None) or "{}",
        derived=["tool_use_id"] if is_call else [],
        source=_LEGACY,
        source_file=place.file,
        source_offset=place.offset,
    )


def _text(raw: msgspec.Raw | None) -> str | None:
    """A text field, or null."""
    if raw is None:
        return None
    data = bytes(raw)
    if data[0] == _QUOTE:
        return data[1:-1].decode() if b"\\" not in data else str(orjson.loads(data))
    if data != b"null":
        raise _OddError
    return None


def _json(raw: msgspec.Raw | None) -> str | None:
    """The JSON text of a field, as captured."""
    text = None if raw is None else str(raw, "utf-8")
    return None if text == "null" else text


def _number(raw: msgspec.Raw | None) -> float | None:
    return None if raw is None else number_of(orjson.loads(bytes(raw)))


def _rest(fields: _Fields, columns: frozenset[str], text_name: str | None) -> str | None:
    """JSON text of what has no column of its own."""
    rest = [
        f"{orjson.dumps(name).decode()}:{str(raw, 'utf-8')}"
        for name, raw in fields.items()
        if name not in columns and name != text_name
    ]
    return f"{{{','.join(rest)}}}" if rest else None
