"""What one patch does to the text of its section. Whether it may, and in which order, skills say."""

import re

from agent_evo_dagster.patches.types import Patch

_ENDS_BLANK = re.compile(r"(?:\n|\A)[ \t]*\r?\n\Z")
_STARTS_BLANK = re.compile(r"[ \t]*\r?\n")


def patched_section(text: str, patch: Patch) -> str:
    """The section's text after `patch`; what `insert_after` adds stands outside the section."""
    body = fitted_body(text, patch)
    if patch.action == "replace":
        return body
    if patch.action == "append":
        return joined(text, body)
    return joined(body, text) if patch.action == "prepend" else text


def fitted_body(text: str, patch: Patch) -> str:
    """The patch's body with a line end, and with CRLF where the section `text` has it throughout."""
    body = patch.body
    if "\r\n" not in body and text.count("\n") and text.count("\r\n") == text.count("\n"):
        body = body.replace("\n", "\r\n")
    return _ended(body)


def joined(first: str, second: str) -> str:
    """Both texts with a blank line between them, unless one already brings it."""
    if not first.strip():
        return first + second
    first = _ended(first)
    if not second or _ENDS_BLANK.search(first) or _STARTS_BLANK.match(second):
        return first + second
    return first + ("\r\n" if first.endswith("\r\n") else "\n") + second


def _ended(text: str) -> str:
    """`text` with a line end, so that what follows begins a line."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")
