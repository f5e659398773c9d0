"""Rows for lines that are no events: where, why, and a redacted beginning. Not which lines those are."""

import re

from agent_evo_dagster.capture.lines import Line
from agent_evo_dagster.capture.redact import redact_text
from agent_evo_dagster.capture.types import QUARANTINE_SCHEMA

EXCERPT = 200


def quarantine_row(file: str, line: Line, reason: str, key: bytes) -> dict[str, object]:
    """One row of QUARANTINE_SCHEMA."""
    text = _unescaped(line.content.decode("utf-8", "replace"))
    row = (file, line.offset, redact_text(reason, key)[:EXCERPT], len(line.content))
    return dict(zip(QUARANTINE_SCHEMA, (*row, redact_text(text, key)[:EXCERPT]), strict=True))


def _unescaped(text: str) -> str:
    """Raw JSON text without the escapes that could hide where a secret begins."""
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\\+[bfnrt]", " ", text).encode("utf-8", "replace").decode()
