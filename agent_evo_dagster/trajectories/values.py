"""JSON text of captured fields as values. No meaning of any field."""

from typing import Any

import orjson


def parsed(text: str | bytes | None) -> Any:
    """The value of JSON text. Absent text is None; text that is not JSON is itself, a string."""
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def canonical(text: str | None) -> str:
    """JSON text with sorted keys, so that equal values compare equal."""
    return "" if text is None else orjson.dumps(parsed(text), option=orjson.OPT_SORT_KEYS).decode()
