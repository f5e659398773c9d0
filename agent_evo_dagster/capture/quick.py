"""The quick path of reading: an ordinary record becomes its event without a parse of what it carries.

The JSON text of a call's input and response is taken over as it was captured. Whatever is not ordinary (no
text where text belongs, escapes by number, a call without an id) is left to records, which reads everything.
"""

from functools import lru_cache
from typing import Final

import msgspec
import orjson

from agent_evo_dagster.capture.fields import at_of, iso_ns, number_of
from agent_evo_dagster.capture.records import (
    CALL_KINDS,
    HOOK_TEXTS,
    LEGACY_KINDS,
    Place,
)
from agent_evo_dagster.capture.types import Event, Layer, Source

_Fields = dict[str, msgspec.Raw]


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """What the capture hook writes; older recordings name the event beside it."""

    captured_at: int | float | str
    hook: _Fields
    event: str | msgspec.UnsetType = msgspec.UNSET


_RECORD: Final = msgspec.json.Decoder(_Record)
_RECORD_BEGINS: Final = b'{"captured_at"'
_OBJECT: Final = msgspec.json.Decoder(_Fields)
_ENCODER: Final = msgspec.json.Encoder()
_QUOTE: Final = 0x22
_HOOK: Final = Source.HOOK.value
_LEGACY: Final = Source.LEGACY.value
_UNKNOWN: Final = Layer.UNKNOWN.value


class _OddError(ValueError):
    """A field that the quick path does not read."""


def quick_event(content: bytes, place: Place) -> Event | None:
    """The event that a line stands for; None where the line takes a closer look.

    The line is UTF-8, holds no secret and no character written by its number.
    """
    try:
        if content.startswith(_RECORD_BEGINS):
            return _hook_event(_RECORD.decode(content), place)
        return _legacy_event(_OBJECT.decode(content), place)
    except (msgspec.MsgspecError, RecursionError, KeyError, ValueError):
        return None


def _hook_event(record: _Record, place: Place) -> Event:
    hook, take = record.hook, record.hook.pop
    kind, session_id = _word(hook.pop("hook_event_name")), _word(hook.pop("session_id"))
    tool_use_id = _text(take("tool_use_id", None))
    if kind is None or session_id is None or (tool_use_id is None and kind in CALL_KINDS):
        raise _OddError
    if record.event is not msgspec.UNSET and record.event != kind:
        raise _OddError
    text_name = next((name for name in HOOK_TEXTS if name in hook), None)
    return Event(
        event_id=place.event_id,
        session_id=session_id,
        layer=_UNKNOWN,
        agent_id=_word(take("agent_id", None)),
        agent_type=_word(take("agent_type", None)),
        prompt_id=_word(take("prompt_id", None)),
        kind=kind,
        at=at_of(record.captured_at),
        tool_name=_word(take("tool_name", None)),
        tool_use_id=tool_use_id,
        tool_input=_json(take("tool_input", None)),
        tool_response=_json(take("tool_response", None)),
        error=_text(take("error", None)),
        duration_ms=_number(take("duration_ms", None)),
        text=_text(take(text_name)) if text_name else None,
        extra=_ENCODER.encode(hook) if hook else None,
        derived=[],
        source=_HOOK,
        source_file=place.file,
        source_offset=place.offset,
    )


def _legacy_event(record: _Fields, place: Place) -> Event:
    take = record.pop
    kind = LEGACY_KINDS[str(_word(record.pop("type")))]
    session_id, timestamp = _word(record.pop("session_id")), _text(record.pop("timestamp"))
    if session_id is None or timestamp is None or "hook" in record:
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
        tool_name=_word(take("tool_name", None)),
        tool_use_id=f"derived-{place.event_id}" if is_call else None,
        tool_input=_json(take("tool_input", None)),
        tool_response=_json(take("tool_response", None)),
        error=None,
        duration_ms=None,
        text=None,
        extra=_ENCODER.encode(record),
        derived=["tool_use_id"] if is_call else [],
        source=_LEGACY,
        source_file=place.file,
        source_offset=place.offset,
    )


def _word(raw: msgspec.Raw | None) -> str | None:
    """A text field, or null, that many records have in common."""
    return None if raw is None else _known(bytes(raw))


def _text(raw: msgspec.Raw | None) -> str | None:
    """A text field, or null."""
    return None if raw is None else _text_of(bytes(raw))


def _text_of(json_text: bytes) -> str | None:
    if json_text[0] == _QUOTE:
        return json_text[1:-1].decode() if b"\\" not in json_text else str(orjson.loads(json_text))
    if json_text != b"null":
        raise _OddError
    return None


@lru_cache(maxsize=1024)
def _known(json_text: bytes) -> str | None:
    return _text_of(json_text)


def _json(raw: msgspec.Raw | None) -> bytes | None:
    """The JSON text of a field, as captured."""
    text = None if raw is None else bytes(raw)
    return None if text == b"null" else text


def _number(raw: msgspec.Raw | None) -> float | None:
    return None if raw is None else number_of(orjson.loads(bytes(raw)))
