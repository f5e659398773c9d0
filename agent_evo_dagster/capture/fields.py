"""Values of a record's fields: times, texts and JSON. Not which record has which field."""

import json
import math
from datetime import UTC, datetime, timedelta

import orjson
import polars as pl

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MIN_NS, _MAX_NS = (
    10**17,
    2**63 - 1,
)  # 1973 to 2262: no count of seconds, milliseconds or microseconds is in it


class FieldError(ValueError):
    """A field that makes its record unusable; the message says which and why."""


def at_of(value: object) -> int:
    """Nanoseconds since the epoch, from integer nanoseconds, float seconds or ISO 8601 text.

    Raises:
        FieldError: it is none of these.
    """
    match value:
        case bool() | None:
            raise FieldError(f"its time is {json.dumps(value)}")
        case int() if _MIN_NS <= value <= _MAX_NS:
            return value
        case float() if math.isfinite(value) and _MIN_NS <= value * 1e9 <= _MAX_NS:
            return round(value * 1e6) * 1000  # a float of today's seconds holds microseconds
        case str():
            return iso_ns(value)
        case _:
            raise FieldError("its time is neither nanoseconds, nor float seconds, nor ISO 8601 text")


def iso_ns(value: str) -> int:
    """Nanoseconds since the epoch, from ISO 8601 text; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise FieldError("its time is not ISO 8601") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    nanoseconds = (moment - _EPOCH) // _MICROSECOND * 1000
    if not _MIN_NS <= nanoseconds <= _MAX_NS:
        raise FieldError("its time is out of range")
    return nanoseconds


def text_of(value: object) -> str | None:
    """A text field: itself, absent, or its JSON where the client sent something else."""
    return value if value is None or isinstance(value, str) else dump(value)


def number_of(value: object) -> float | None:
    """A numeric field; None where it is absent or no finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def dump(value: object) -> str:
    """JSON text of a parsed value."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_utf8(data: bytes) -> bool:
    """Whether this is text; Polars tells it several times faster than Python decodes it."""
    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return True


def parse(line: bytes) -> object:
    """The JSON value of a line. NaN and infinities become their names; lone surrogates U+FFFD.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return parse_leniently(line.decode())


def parse_leniently(text: str) -> object:
    """What strict JSON refuses and Python's own writer produces."""
    try:
        return mend(json.loads(text, parse_constant=str))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def mend(value: object) -> object:
    """A parsed value that can be written as UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [mend(item) for item in value]
    if isinstance(value, dict):
        return {str(mend(name)): mend(item) for name, item in value.items()}
    return value
