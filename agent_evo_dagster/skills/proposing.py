"""Sections proposed for a Markdown text from its headings. Only marker lines are added, and only whole lines.

A code fence that never closes stays outside: a marker after it would not be seen.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_evo_dagster.patches.fences import Line, scan

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>[^\r\n]*?))?(?:[ \t]+#+)?[ \t]*\r?\n?")
_WORDS = 48  # characters of a heading that make a name
WHOLE = "instructions"  # a text without headings
BEFORE = "introduction"  # what stands before the first heading that begins a section


@dataclass(frozen=True)
class Proposal:
    """A section to be: lines `start` to `stop`, counted from 0, the last one left out."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class _Heading:
    """One heading; `at` is the place of its line."""

    at: int
    level: int
    title: str


def proposed_sections(body: str) -> list[Proposal]:
    """Sections for the text below a front matter: from each of its highest headings to the next.

    One heading above all others is the title, and begins none.
    """
    lines = list(scan(body))
    end = _end(lines)
    headings = [heading for heading in _headings(lines) if heading.at < end]
    title = headings[0] if headings and _is_title(headings) else None
    rest = headings[1:] if title else headings
    level = min((heading.level for heading in rest), default=0)
    tops = [heading for heading in rest if heading.level == level]
    stops = [*(heading.at for heading in tops), end]
    first = 0 if title is None else title.at + 1
    spans = [(BEFORE if tops else WHOLE, first, stops[0])]
    spans += [
        (_slug(top.title) or f"section-{number}", top.at, stop)
        for number, (top, stop) in enumerate(zip(tops, stops[1:], strict=True), start=1)
    ]
    return list(_distinct(lines, spans))


def with_sections(body: str) -> str:
    """The text with the markers of its proposed sections."""
    lines = list(scan(body))
    opened = {section.start: section.name for section in proposed_sections(body)}
    closed = {section.stop: section.name for section in proposed_sections(body)}
    out = []
    for place, line in enumerate(lines):
        end = "\r\n" if line.text.endswith("\r\n") else "\n"
        if place in closed:
            out.append(_closing(closed[place], lines[place - 1]))
        if place in opened:
            out.append(f"<!-- section:{opened[place]} -->{end}")
        out.append(line.text)
    if len(lines) in closed:
        whole = body.endswith("\n")
        end = "\r\n" if "\r\n" in body else "\n"
        marker = _closing(closed[len(lines)], lines[-1])
        out.append(marker if whole else end + marker.rstrip())
    return "".join(out)


def _closing(name: str, last: Line) -> str:
    """The closing marker, with the line end of the section's last line."""
    return f"<!-- /section:{name} -->" + ("\r\n" if last.text.endswith("\r\n") else "\n")


def _end(lines: Sequence[Line]) -> int:
    """The place before which sections may end."""
    if not lines:
        return 0
    last = lines[-1]
    return last.fence - 1 if last.part in ("open", "code") else len(lines)


def _headings(lines: Sequence[Line]) -> Iterator[_Heading]:
    for place, line in enumerate(lines):
        found = _HEADING.fullmatch(line.text) if line.part == "text" else None
        if found:
            yield _Heading(place, len(found["marks"]), found["title"] or "")


def _is_title(headings: Sequence[_Heading]) -> bool:
    """Whether the first heading is of the first level, or stands above others, and none is as high."""
    first, *rest = headings
    return (first.level == 1 or bool(rest)) and all(heading.level > first.level for heading in rest)


def _slug(title: str) -> str:
    """A section's name from a heading; empty where the heading has no letter or digit of ASCII."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:_WORDS].strip("-")


def _distinct(lines: Sequence[Line], spans: Sequence[tuple[str, int, int]]) -> Iterator[Proposal]:
    """The sections that hold any text, without the blank lines around it, each with a name of its own."""
    names: set[str] = set()
    for wanted, begin, end in spans:
        start, stop = begin, end
        while start < stop and not lines[start].text.strip():
            start += 1
        while stop > start and not lines[stop - 1].text.strip():
            stop -= 1
        if start == stop:
            continue
        name, number = wanted, 1
        while name in names:
            number += 1
            name = f"{wanted}-{number}"
        names.add(name)
        yield Proposal(name, start, stop)
