"""Short, single-line wording of numbers and of session text. No escaping: that is the report's."""

import math
import re

_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def excerpt(text: str, limit: int = 120) -> str:
    """At most `limit` characters of `text` on one line, with an ellipsis where it was cut."""
    line = _SPACE.sub(" ", text[: 4 * limit]).strip()
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1]}…"


def plural(count: int, noun: str) -> str:
    """The count and its noun: `1 session`, `2 sessions`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def times(count: int) -> str:
    """How often: `once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def number(value: float | int | str | None, digits: int = 3) -> str:
    """A value for people: at most `digits` significant digits, `n/a` where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "n/a"
    if isinstance(value, str):
        return value
    if 10**digits <= abs(value) < 1e9:
        return f"{value:,.0f}"
    if 0 < abs(value) < 1e-3:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.{digits}g}"


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign and fixed decimals: `+0.12`."""
    return "n/a" if value is None or not math.isfinite(value) else f"{value:+z.{digits}f}"


def fixed(value: float | None, digits: int = 2) -> str:
    """A figure with fixed decimals: `0.52`."""
    return "n/a" if value is None or not math.isfinite(value) else f"{value:z.{digits}f}"


def duration(seconds: float) -> str:
    """A time span for people: `12 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
