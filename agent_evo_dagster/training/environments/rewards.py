"""Rewards of tool environments, as named components that add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_evo_dagster.training.environments.answers import parse_number, same_number
from agent_evo_dagster.training.environments.types import Score, Task, components

CORRECT = 0.8
FINISHED = 0.1
TOOL_USED = 0.08
PROTOCOL = 0.02
MALFORMED = -0.03  # for each malformed call


@dataclass(frozen=True)
class Outcome:
    """What an attempt came to."""

    task: Task
    answer: str | None  # none: it never answered
    calls: int  # well-formed calls, the answer among them
    succeeded: int  # calls of tools that gave a result
    malformed: int  # calls that could not be read, or lacked an argument

    @property
    def correct(self) -> bool:
        """Whether the answer is the task's. Numbers are compared as numbers, other answers as text."""
        if parse_number(self.task.answer) is not None:
            return same_number(self.answer, self.task.answer)
        return self.answer is not None and _plain(self.answer) == _plain(self.task.answer)

    @property
    def finished(self) -> bool:
        """Whether there is an answer of the kind that the task has."""
        if self.answer is None:
            return False
        return parse_number(self.task.answer) is None or parse_number(self.answer) is not None


class Reward(Protocol):
    """How an outcome is scored."""

    @property
    def names(self) -> Sequence[str]:
        """The components of every score."""
        ...

    def __call__(self, outcome: Outcome) -> Score:
        """The score of `outcome`."""
        ...


class ShapedReward:
    """Mostly the answer, and a little for using the tools as they are meant."""

    names = ("correct", "finished", "tool_used", "protocol", "malformed")

    def __call__(self, outcome: Outcome) -> Score:
        """One for the good way; a guess keeps .12 at most."""
        parts = components(
            correct=CORRECT * outcome.correct,
            finished=FINISHED * outcome.finished,
            tool_used=TOOL_USED * bool(outcome.succeeded),
            protocol=PROTOCOL * (outcome.calls > 0 and not outcome.malformed),
            malformed=MALFORMED * outcome.malformed,
        )
        return Score(parts, outcome.correct)


class BinaryReward:
    """The answer alone."""

    names = ("correct",)

    def __call__(self, outcome: Outcome) -> Score:
        """One or nothing."""
        return Score(components(correct=float(outcome.correct)), outcome.correct)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
