"""Lines of a spool file, and the records that can be saved from a broken one. Not what a record means."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent_evo_dagster.capture.fields import mend

BOM = b"\xef\xbb\xbf"

# How a record begins. Inside a JSON string each of these quotes would have a backslash before it.
_BEGINNING = re.compile(r'\{\s*"(?:captured_at|type)"\s*:')


class Line(NamedTuple):
    """A line without its break; `offset` is its first byte in the file."""

    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Salvage:
    """A record found within a broken line, and its bytes."""

    offset: int
    content: bytes
    record: object


def split(data: bytes, start: int) -> list[Line]:
    """The lines of `data`, which stands at `start` in its file; empty ones mean nothing and are left out."""
    lines = []
    offset = start
    for content in data.split(b"\n"):
        if content and not content.isspace():
            lines.append(Line(offset, content))
        offset += len(content) + 1
    return lines


def salvage(line: Line) -> tuple[list[Salvage], bytes]:
    """The whole records within a broken line, and the bytes that are left of it.

    Writers that were not synchronised put two records on one line, or one into the middle of another; a torn
    record is followed by a whole one. What is whole is taken out; what is left is no record.
    """
    text = line.content.decode("utf-8", "surrogateescape")
    saved = []
    left = []
    end = 0
    for begin, stop, record in _whole_records(text):
        content = text[begin:stop].encode("utf-8", "surrogateescape")
        offset = line.offset + len(text[:begin].encode("utf-8", "surrogateescape"))
        saved.append(Salvage(offset, content, mend(record)))
        left.append(text[end:begin])
        end = stop
    left.append(text[end:])
    return saved, "".join(left).encode("utf-8", "surrogateescape").strip()


def _whole_records(text: str) -> Iterator[tuple[int, int, object]]:
    """Begin, end and value of each record that can be parsed, none within another."""
    decoder = json.JSONDecoder(parse_constant=str)
    end = 0
    for match in _BEGINNING.finditer(text):
        if match.start() < end:
            continue
        try:
            record, stop = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if any("\udc80" <= char <= "\udcff" for char in text[match.start() : stop]):
            continue  # holds a byte that is not UTF-8
        yield match.start(), stop, record
        end = stop
