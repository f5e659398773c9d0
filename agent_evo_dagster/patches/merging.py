"""Three texts become one where that is trivially safe: two edits of one text that do not touch each other.

Anything nearer is for a person: two edits in one line, or side by side, may say opposite things.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from agent_evo_dagster.patches.fences import split_lines


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `start` to `stop` of the base, the last left out, and what stands in their place."""

    start: int
    stop: int
    lines: tuple[str, ...]


def merged(base: str, first: str, second: str) -> str | None:
    """`base` with the changes of both; None where an unchanged line does not lie between any two of them."""
    hunks = sorted({*_hunks(base, first), *_hunks(base, second)}, key=lambda hunk: (hunk.start, hunk.stop))
    if any(after.start <= before.stop for before, after in pairwise(hunks)):
        return None
    lines, out, place = split_lines(base), list[str](), 0
    for hunk in hunks:
        out += [*lines[place : hunk.start], *hunk.lines]
        place = hunk.stop
    return "".join([*out, *lines[place:]])


def _hunks(base: str, text: str) -> Iterator[_Hunk]:
    old, new = split_lines(base), split_lines(text)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, start, stop, begin, end in matcher.get_opcodes():
        if tag != "equal":
            yield _Hunk(start, stop, tuple(new[begin:end]))
