"""The screen before redaction: which rules a raw JSON line calls for. Not what a secret is, nor its removal.

One pass over the bytes of a line looks for the hints of all rules at once, so that the lines without a
secret, nearly all, are neither parsed nor searched by the rules' exact patterns.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import hyperscan

from agent_evo_dagster.capture.secret_rules import RULES, Rule

# Letters of secrets' names and forms written by their numbers could hide any hint: printable ASCII, and the
# letters beyond it that are ASCII ones in another case.
_HIDING: Final = r"\\u(?:00[2-7]|01(?:3[01]|7[fF])|212[aA])"
_NUMBERED: Final = r"\\u"
_LONGEST: Final = 1 << 30  # bytes of a line that the matcher is given: it counts in 32 bits


class Screen:
    """The hints of some rules, ready to be looked for."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        hints = [*dict.fromkeys(rule.hint for rule in rules), _HIDING, _NUMBERED]
        self._called_for = [
            [number for number, rule in enumerate(rules) if hint in (rule.hint, _HIDING)] for hint in hints
        ]
        self._matcher = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._matcher.compile(
            expressions=[hint.encode("ascii") for hint in hints],
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(hints),
        )
        self._alone = threading.Lock()  # the matcher has one scratch space

    def closer_looks(self, lines: Sequence[bytes]) -> Mapping[int, Sequence[Rule]]:
        """The positions of the lines that take a closer look, and the rules that each calls for.

        No rule that is left out would find anything in the line. A line that calls for none is here where it
        has a character written by its number.
        """
        looks: dict[int, Sequence[Rule]] = {}
        hints: list[int] = []

        def note(hint: int, *_where: object) -> None:
            hints.append(hint)

        with self._alone:
            for number, line in enumerate(lines):
                if len(line) > _LONGEST:
                    looks[number] = self._rules
                    continue
                self._matcher.scan(line, match_event_handler=note)
                if hints:
                    called = {rule for hint in hints for rule in self._called_for[hint]}
                    looks[number] = [self._rules[rule] for rule in sorted(called)]
                    hints.clear()
        return looks


@lru_cache(maxsize=16)  # sets of rules: all secrets, with the kinds of personal data that a home asks for
def screen_of(rules: tuple[Rule, ...]) -> Screen:
    """The screen for these rules, made once in a process."""
    return Screen(rules)


def rules_called_for(lines: Sequence[bytes], rules: Sequence[Rule] = RULES) -> list[Sequence[Rule]]:
    """The `rules` that each raw JSON line calls for: others would find nothing in it. Mostly none."""
    looks = screen_of(tuple(rules)).closer_looks(lines)
    return [looks.get(number, ()) for number in range(len(lines))]
