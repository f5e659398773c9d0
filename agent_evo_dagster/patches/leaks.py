"""Whether a text gives away tasks: their words in a row, or their answers. What it means is not understood.

Texts are compared by their letters and digits as an eye takes them, so that marks, cases, line ends, spaces,
characters of no width and look-alikes hide nothing; as they are written, for a model reads what is between
marks, and as they are shown. Said in other words, or in a code, a task is not seen.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent_evo_dagster.patches.people import same_person as as_seen  # letters and digits as an eye takes them

WINDOW: Final = 40  # letters and digits in a row that stand in two texts by no accident
LINE: Final = 24  # of them, in a line that is shorter and stands there whole
ANSWER: Final = 4  # of them, in an answer that can be known again
WORD: Final = 6  # of them, in an answer that is one word without a digit
_MARKS: Final = re.compile(r"<!--|-->|</?[a-zA-Z]+\s*/?>|[*_`~\\$]")
# What is not shown where the text is rendered, with what stands in it.
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_UNSEEN: Final = re.compile(r"</?[a-zA-Z][^<>]*>|\[\^[^\[\]\n]*\]")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_HYPHENATED: Final = re.compile(r"[-\u2010\u2011]\s*\n\s*")
_NARROW: Final = re.compile(r"(?<=\d)[\u2007\u2009\u200a\u202f](?=\d)")
_GROUPED: Final = re.compile(r"(?<=\d)(?:\{,\}|[,.'\u2019\u00a0\u00b7\u066c\uff0c ])(?=\d{3}(?!\d))")  # 4,217
_NO_WIDTH: Final = frozenset({"Cf", "Mn", "Me", "Cn", "Co"})


@dataclass(frozen=True, slots=True)
class Known:
    """What only a task says; `answer` is None where it is told by a check."""

    texts: Collection[str]
    answer: str | None = None


def given_away(told: str, base: str, tasks: Mapping[str, Known]) -> list[str]:
    """The tasks, sorted, of which `told` holds what `base`, the text before it, does not.

    What half of the tasks say, and two at least, is none's own.
    """
    windows = {window for one in _readings(told) for window in _windows(one)}
    windows -= {window for one in _readings(base) for window in _windows(one)}
    lines = _Lines(_readings(told), _readings(base))
    quoted = {task: _quoted(known, windows, lines) for task, known in tasks.items()}
    often = Counter(part for parts in quoted.values() for part in parts)
    common = {part for part, count in often.items() if count > 1 and 2 * count >= len(tasks)}
    named = _named(_numbers(told), _numbers(base), tasks)
    return [task for task in sorted(tasks) if task in named or quoted[task] - common]


def _quoted(known: Known, windows: Collection[str], lines: "_Lines") -> set[str]:
    """What is told of a task's words: parts of it."""
    found = {one for text in known.texts for one in _windows(_letters(text)) if one in windows}
    return found.union(*(lines.held(text) for text in known.texts))


def _named(
    said: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]], tasks: Mapping[str, Known]
) -> set[str]:
    """The tasks whose answers, theirs alone, are told."""
    answers = {task: _words(known.answer or "") for task, known in tasks.items()}
    often = Counter(words for words, _ in answers.values())

    def told(task: str) -> bool:
        return any(
            answer in one[way] and not any(answer in other[way] for other in before)
            for way, answer in enumerate(answers[task])
            for one in said
        )

    return {
        task
        for task, known in tasks.items()
        if _distinctive(known.answer or "") and often[answers[task][0]] == 1 and told(task)
    }


@dataclass(frozen=True, slots=True)
class _Lines:
    """What is searched for whole lines."""

    told: Collection[str]
    base: Collection[str]

    def held(self, text: str) -> set[str]:
        return {line for line in map(_letters, text.splitlines()) if self._hold(line)}

    def _hold(self, line: str) -> bool:
        known = any(line in one for one in self.base)
        return LINE <= len(line) < WINDOW and not known and any(line in one for one in self.told)


def _dresses(text: str) -> tuple[str, ...]:
    """The text as it is written without its marks, and as it is shown."""
    plain = html.unescape(html.unescape(text))
    closed = plain.rfind("-->") + 3  # beyond it no comment ends, and each would be looked through
    shown = _COMMENT.sub("", plain[:closed]) + plain[closed:] if closed > 2 else plain
    shown = _UNSEEN.sub("", _LINK.sub(r"\1", shown))
    return tuple(dict.fromkeys(_MARKS.sub("", one) for one in (plain, shown)))


def _readings(text: str) -> tuple[str, ...]:
    """Its letters and digits; a bar may be a line of a table, or stand for the letter that it looks like."""
    found = (as_seen(form) for one in _dresses(text) for form in (one.replace("|", ""), one))
    return tuple(dict.fromkeys(found))


def _letters(text: str) -> str:
    return as_seen(_dresses(text)[0].replace("|", ""))


def _windows(letters: str) -> Iterator[str]:
    return (letters[start : start + WINDOW] for start in range(len(letters) - WINDOW + 1))


def _numbers(text: str) -> list[tuple[str, str]]:
    """The words of each dress of a text, by both ways to read `4 217`."""
    return [_both(one) for one in _dresses(text)]


def _words(text: str) -> tuple[str, str]:
    return _both(_dresses(text)[0])


def _both(dress: str) -> tuple[str, str]:
    """Its words as an eye takes them, each between two spaces; in the first, groups of digits are one."""
    plain = _NARROW.sub("", _HYPHENATED.sub("", dress))
    return _spaced(_GROUPED.sub("", plain)), _spaced(plain)


def _spaced(plain: str) -> str:
    shown = (one if one.isalnum() else " " for one in unicodedata.normalize("NFKC", plain) if _has_width(one))
    return f" {' '.join(map(as_seen, ''.join(shown).split()))} "


def _has_width(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) not in _NO_WIDTH


def _distinctive(answer: str) -> bool:
    """Whether an answer is said by no accident; short words, and short numbers, are in any text."""
    letters = [one for one in answer if one.isalnum()]
    least = ANSWER if len(answer.split()) > 1 or any(map(str.isdigit, letters)) else WORD
    return len(letters) >= least
