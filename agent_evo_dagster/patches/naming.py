"""Whether a text names a trouble: in one line, in the words that a finding has for it. No judging.

A line names a trouble where it holds all that tells that trouble from others: the tool and the error, the
wrong folder and the right one, the name that does not exist. A line that names many at once gives no way out
of any: it counts for none.
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

from agent_evo_dagster.patches.fences import split_lines
from agent_evo_dagster.patches.quoting import quoted_words

Trouble: TypeAlias = tuple[str, ...]  # what a finding is about: its subject

MAX_NAMED: Final = 3  # troubles that one line may name
_MAX_LINE = 2_000
_MAX_WORDS = 100  # characters of an error that advice quotes
_LETTERS = 8  # an end of an error that has fewer says too little to name it alone


def named_troubles(text: str, troubles: Collection[Trouble]) -> frozenset[Trouble]:
    """Those of `troubles` that some line of `text` names."""
    wanted = [(trouble, [_alternatives(part) for part in trouble]) for trouble in sorted(set(troubles))]
    found: set[Trouble] = set()
    for line in _lines(text):
        here = {trouble for trouble, parts in wanted if parts and all(_holds(line, part) for part in parts)}
        if len(here) <= MAX_NAMED:
            found |= here
    return frozenset(found)


def _lines(text: str) -> Iterable[str]:
    """The lines that say something, as plain words."""
    return (plain for line in split_lines(text) if (plain := _plain(line, _MAX_LINE)))


def _plain(text: str, limit: int) -> str:
    """`text` as advice quotes it, without the quotes, and small."""
    return quoted_words(text, limit)[1:-1].removesuffix("...").rstrip().casefold()


def _alternatives(part: str) -> tuple[str, ...]:
    """The ways to name one part: whole, or, of an error behind an exit code, the line that tells."""
    whole = _plain(part, _MAX_WORDS)
    end = _plain(part.rsplit(" | ", 1)[-1], _MAX_WORDS)
    telling = sum(char.isalpha() for char in end) >= _LETTERS
    return tuple(dict.fromkeys(way for way in (whole, end if telling else "") if way))


def _holds(line: str, ways: tuple[str, ...]) -> bool:
    return any(way in line for way in ways)
