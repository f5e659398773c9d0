"""Whether a text gives away tasks: their words in a row, or their answers. What it means is not understood.

Texts are compared by their letters and digits as an eye takes them, so that marks, cases, line ends, spaces,
characters of no width and look-alikes hide nothing. Said in other words, or in a code, a task is not seen.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agent_evo_dagster.patches.people import same_person as as_seen  # letters and digits as an eye takes them

WINDOW: Final = 40  # letters and digits in a row that stand in two texts by no accident
LINE: Final = 24  # of them, in a line that is shorter and stands there whole
ANSWER: Final = 4  # of them, in an answer that can be known again
WORD: Final = 6  # of them, in an answer that is one word without a digit
_MARKS: Final = re.compile(r"<!--|-->|</?[a-zA-Z]+\s*/?>|[*_`~\\]")
_HYPHENATED: Final = re.compile(r"[-\u2010\u2011]\s*\n\s*")
_GROUPED: Final = re.compile(r"(?<=\d)[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")  # 4,217
_NO_WIDTH: Final = frozenset({"Cf", "Mn", "Me"})


@dataclass(frozen=True, slots=True)
class Known:
    """What only a task says; `answer` is None where it is told by a check."""

    texts: Collection[str]
    answer: str | None = None


def given_away(told: str, base: str, tasks: Mapping[str, Known]) -> list[str]:
    """The tasks, sorted, of which `told` holds what `base`, the text before it, does not."""
    windows = {window for one in _readings(told) for window in _windows(one)}
    windows -= {window for one in _readings(base) for window in _windows(one)}
    lines = _Lines(_readings(told), _readings(base))
    said, before = _words(told), _words(base)
    answers = {task: _words(known.answer or "") for task, known in tasks.items()}
    often = Counter(answers.values())

    def named(task: str) -> bool:
        answer = answers[task]
        known = _distinctive(tasks[task].answer or "") and often[answer] == 1
        return known and answer in said and answer not in before

    def quoted(text: str) -> bool:
        return lines.hold_one_of(text) or any(one in windows for one in _windows(_letters(text)))

    return [task for task, known in sorted(tasks.items()) if named(task) or any(map(quoted, known.texts))]


@dataclass(frozen=True, slots=True)
class _Lines:
    """What is searched for whole lines."""

    told: Collection[str]
    base: Collection[str]

    def hold_one_of(self, text: str) -> bool:
        return any(map(self._hold, map(_letters, text.splitlines())))

    def _hold(self, line: str) -> bool:
        known = any(line in one for one in self.base)
        return LINE <= len(line) < WINDOW and not known and any(line in one for one in self.told)


def _readings(text: str) -> tuple[str, str]:
    """Its letters and digits; a bar may be a line of a table, or stand for the letter that it looks like."""
    return _letters(text), as_seen(_unmarked(text))


def _letters(text: str) -> str:
    return as_seen(_unmarked(text).replace("|", ""))


def _windows(letters: str) -> Iterator[str]:
    return (letters[start : start + WINDOW] for start in range(len(letters) - WINDOW + 1))


def _words(text: str) -> str:
    """Its words as an eye takes them, each between two spaces."""
    plain = _GROUPED.sub("", _HYPHENATED.sub("", _unmarked(text)))
    shown = (one if one.isalnum() else " " for one in unicodedata.normalize("NFKC", plain) if _has_width(one))
    return f" {' '.join(map(as_seen, ''.join(shown).split()))} "


def _has_width(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) not in _NO_WIDTH


def _unmarked(text: str) -> str:
    return _MARKS.sub("", html.unescape(text))


def _distinctive(answer: str) -> bool:
    """Whether an answer is said by no accident; short words, and short numbers, are in any text."""
    letters = [one for one in answer if one.isalnum()]
    least = ANSWER if len(answer.split()) > 1 or any(map(str.isdigit, letters)) else WORD
    return len(letters) >= least
