"""Data in a question, fenced: what sessions and patches say, so that a model can tell it from instructions.

It stands between two marks that are made of a hash of what is between them, each item as JSON on one line in
plain ASCII: no text can end its fence, hide a character, or begin a line of its own.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping


def fenced(items: Iterable[Mapping[str, object]]) -> str:
    """The items between their marks; the same items give the same bytes."""
    body = "\n".join(_line(item) for item in items)
    mark = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f"<<<DATA {mark}\n{body}\n{mark} DATA>>>"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, with a word on what is missing."""
    return text if len(text) <= limit else f"{text[:limit]} [{len(text) - limit} characters left out]"


def _line(item: Mapping[str, object]) -> str:
    """JSON in ASCII on one line; `<` and `>` are escaped, so that no mark can stand in it."""
    text = json.dumps(item, sort_keys=True, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
