"""Lines of Markdown, told apart by code fences and section markers. Sections belong to skills."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_OPENING = re.compile(r" {0,3}(?P<run>`{3,}|~{3,})(?P<info>[^\r\n]*)")
_MARKER = re.compile(r"<!-- (?P<close>/?)section:(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*) -->[ \t]*\r?\n?")
_MARKER_LIKE = re.compile(r"\s*<!--\s*/?\s*section\s*:.*", re.IGNORECASE | re.DOTALL)
# What begins a block of HTML that no blank line ends, and what ends it: CommonMark's kinds 1 to 5.
_HTML = tuple(
    (re.compile(f" {{0,3}}(?:{start})", re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in (
        (r"<!--", r"-->"),
        (r"<(?:script|pre|style|textarea)(?=[\s>]|$)", r"</(?:script|pre|style|textarea)>"),
        (r"<\?", r"\?>"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (r"<![a-z]", r">"),
    )
)


@dataclass(frozen=True)
class Line:
    """One line with its end, and what the fence scan says of it."""

    number: int  # from 1
    text: str
    part: Literal["text", "open", "code", "close"]  # outside, or which part of a fence
    fence: int  # line number of the opening fence; 0 outside
    info: str  # info string of that fence


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only LF ends a line, so that joining gives the same text."""
    lines = text.split("\n")
    whole = [f"{line}\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole


def scan(text: str) -> Iterator[Line]:
    """Every line of `text` with the fence that it lies in, by CommonMark's rules for fences."""
    run, info, opened = "", "", 0
    for number, line in enumerate(split_lines(text), start=1):
        if opened:
            closes = _closes(line, run)
            yield Line(number, line, "close" if closes else "code", opened, info)
            opened = 0 if closes else opened
            continue
        found = _OPENING.match(line)
        if found and not (found["run"][0] == "`" and "`" in found["info"]):
            run, info, opened = found["run"], found["info"].strip(), number
            yield Line(number, line, "open", opened, info)
        else:
            yield Line(number, line, "text", 0, "")


def _closes(line: str, run: str) -> bool:
    """Whether `line` ends the fence that `run` opened."""
    bare = line.rstrip()
    indent = len(bare) - len(bare.lstrip(" "))
    bare = bare.lstrip(" ")
    return indent <= 3 and len(bare) >= len(run) and set(bare) == {run[0]}


def open_fence(text: str) -> int | None:
    """Line number of a fence that `text` never closes, or None."""
    last = None
    for line in scan(text):
        last = line
    return last.fence if last and last.part in ("open", "code") else None


def open_html(text: str) -> int | None:
    """Line number of what begins in or as HTML and that `text` never closes, or None.

    A comment, or another block of HTML, that has no end hides all that follows where the text is rendered;
    within it, a line of backticks opens no fence, so that the next one does.
    """
    opened, run, end = 0, "", None
    for number, line in enumerate(split_lines(text), start=1):
        if end is not None:
            end = None if end.search(line) else end
        elif run:
            run = "" if _closes(line, run) else run
        elif (found := _OPENING.match(line)) and not (found["run"][0] == "`" and "`" in found["info"]):
            opened, run = number, found["run"]
        else:
            begun = next((finish for start, finish in _HTML if start.match(line)), None)
            if begun is not None and not begun.search(line):
                opened, end = number, begun
    return opened if run or end is not None else None


@dataclass(frozen=True)
class Marker:
    """A section marker line; `name` is None where the line only resembles one."""

    name: str | None
    closing: bool


def marker_of(line: Line) -> Marker | None:
    """The section marker on `line`; a line in a fence is text and has none."""
    if line.part != "text" or "<!--" not in line.text:
        return None
    found = _MARKER.fullmatch(line.text)
    if found:
        return Marker(found["name"], bool(found["close"]))
    return Marker(None, False) if _MARKER_LIKE.fullmatch(line.text) else None
