"""Three texts become one where that is trivially safe: two edits of one text that do not touch each other.

Anything nearer is for a person: two edits in one line, or side by side, may say opposite things. Lines alone
are known here, no patches.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_evo_dagster.patches.fences import split_lines


@dataclass(frozen=True, slots=True)
class Clash:
    """Lines that two edits both change, or change side by side: as they were, and as each has them."""

    line: int  # of the base, from 1
    base: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `start` to `stop` of the base, the last left out, and what stands in their place."""

    start: int
    stop: int
    lines: tuple[str, ...]


def merged(base: str, first: str, second: str) -> str | None:
    """`base` with the changes of both; None where an unchanged line does not lie between any two of them."""
    groups = _groups(base, first, second)
    if any(len(group) > 1 for group in groups):
        return None
    lines = split_lines(base)
    return "".join(_applied(lines, 0, len(lines), [hunk for group in groups for hunk in group]))


def clashes(base: str, first: str, second: str) -> list[Clash]:
    """Where the two edits touch, in the order of the base; none where `merged` has a text."""
    lines, mine, theirs = split_lines(base), set(_hunks(base, first)), set(_hunks(base, second))
    found = []
    for group in _groups(base, first, second):
        if len(group) > 1:
            start, stop = group[0].start, max(hunk.stop for hunk in group)
            sides = (_applied(lines, start, stop, [h for h in group if h in side]) for side in (mine, theirs))
            found.append(Clash(start + 1, tuple(lines[start:stop]), *sides))
    return found


def _groups(base: str, first: str, second: str) -> list[list[_Hunk]]:
    """The changes of both in order, those together that touch; what both do in the same way counts once."""
    hunks = sorted({*_hunks(base, first), *_hunks(base, second)}, key=lambda h: (h.start, h.stop, h.lines))
    groups: list[list[_Hunk]] = []
    end = -1
    for hunk in hunks:
        if groups and hunk.start <= end:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
        end = max(end, hunk.stop)
    return groups


def _applied(lines: Sequence[str], start: int, stop: int, hunks: Sequence[_Hunk]) -> tuple[str, ...]:
    """Lines `start` to `stop`, the last left out, with `hunks`, which do not touch each other."""
    out, place = list[str](), start
    for hunk in hunks:
        out += [*lines[place : hunk.start], *hunk.lines]
        place = hunk.stop
    return (*out, *lines[place:stop])


def _hunks(base: str, text: str) -> Iterator[_Hunk]:
    old, new = split_lines(base), split_lines(text)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, start, stop, begin, end in matcher.get_opcodes():
        if tag != "equal":
            yield _Hunk(start, stop, tuple(new[begin:end]))
