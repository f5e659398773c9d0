"""The vocabulary of environments: tasks, replies, scores, and the seam to the rollout. No task of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

from agent_evo_dagster.training.rollout.types import Limits

Split = Literal["train", "dev", "judge", "report"]


@dataclass(frozen=True)
class Task:
    """One problem. `task_id` is stable: the same problem has the same id in every run."""

    task_id: str
    question: str
    answer: str


@dataclass(frozen=True)
class Reply:
    """What the environment answers to one assistant turn."""

    results: tuple[str, ...]  # tool results, in the order of the calls
    done: bool  # the episode is over; results are not shown


@dataclass(frozen=True)
class Score:
    """The reward of an episode as named components, which add up to it."""

    components: Mapping[str, float]
    correct: bool

    @property
    def reward(self) -> float:
        """The sum of the components."""
        return sum(self.components.values())


@dataclass(frozen=True)
class ToolUse:
    """How often an episode used its tools, and how often that went wrong."""

    calls: int
    errors: int


class Episode(Protocol):
    """One attempt at one task: the state that the rollout talks to."""

    @property
    def task(self) -> Task:
        """The task that is attempted."""
        ...

    def opening(self) -> list[dict[str, str]]:
        """Chat messages before the first assistant turn."""
        ...

    def act(self, text: str) -> Reply:
        """Execute what the assistant turn `text` asks for. Not called for a turn that was cut."""
        ...

    def score(self) -> Score:
        """The reward of what has happened so far."""
        ...

    def tool_use(self) -> ToolUse:
        """Counts of tool calls so far."""
        ...


class Environment(Protocol):
    """A set of tasks and how they are attempted."""

    limits: Limits  # of an evaluation: the same whatever a training run allows itself
    reward_names: Sequence[str]  # the components of every score

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` tasks of the split's stream for `seed`; more of them extend the same stream."""
        ...

    def task(self, task_id: str) -> Task:
        """The task with this id."""
        ...

    def episode(self, task: Task) -> Episode:
        """A new attempt at `task`."""
        ...


def components(**values: float) -> Mapping[str, float]:
    """Named reward components that cannot be changed afterwards."""
    return MappingProxyType(values)
