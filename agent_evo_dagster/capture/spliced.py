"""Records of a transcript within a line that is broken: put there by writers that were not synchronised.

The records of hooks begin otherwise: those are saved in lines.
"""

import json
import re
from collections.abc import Iterator

from agent_evo_dagster.capture.lines import Line

# How a record begins. What it holds begins so too: a record names its session as well.
_BEGINNING = re.compile(r'\{\s*"(?:parentUuid|type)"\s*:')
_ERRORS = "surrogateescape"


def saved_lines(line: Line) -> tuple[list[Line], bytes]:
    """The whole records within a broken line, and the bytes that are left of it."""
    text = line.content.decode("utf-8", _ERRORS)
    saved, left, end = [], [], 0
    for begin, stop in _whole(text):
        offset = line.offset + len(text[:begin].encode("utf-8", _ERRORS))
        saved.append(Line(offset, text[begin:stop].encode("utf-8", _ERRORS)))
        left.append(text[end:begin])
        end = stop
    left.append(text[end:])
    return saved, "".join(left).encode("utf-8", _ERRORS).strip()


def _whole(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each record that can be parsed, none within another."""
    decoder, end = json.JSONDecoder(), 0
    for match in _BEGINNING.finditer(text):
        if match.start() < end:
            continue
        try:
            record, stop = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(record.get("sessionId"), str) and isinstance(record.get("type"), str):
            yield match.start(), stop
            end = stop
