"""The vocabulary of environments: tasks, replies, scores, and the seam to the rollout. No task of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, Protocol

from agent_evo_dagster.training.rollout.types import Count, Limits, Schema
from agent_evo_dagster.training.tool_calls.types import JsonValue

Split = Literal["train", "dev", "judge", "report"]


@dataclass(frozen=True)
class Task:
    """One problem. `task_id` is stable: the same problem has the same id in every run."""

    task_id: str
    question: str
    answer: str
    extra: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)  # what else the data set says


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


class ToolFault(StrEnum):
    """Why a well-formed call was not done."""

    BAD_ARGUMENTS = "bad_arguments"  # one is missing, or of another type
    REFUSED = "refused"  # the tool says no to what it is asked for
    TOOL_TIMEOUT = "tool_timeout"


@dataclass(frozen=True)
class ToolUse:
    """How often an episode used its tools, and how often that went wrong."""

    calls: int
    errors: int
    faults: Mapping[str, int] = field(default_factory=dict, hash=False)  # errors by Fault or ToolFault
    recovered: int = 0  # calls that were read in spite of a fault


class Episode(Protocol):
    """One attempt at one task: the state that the rollout talks to."""

    @property
    def blocking(self) -> bool:
        """Whether `opening` and `act` may take long: they then run on threads, beside each other."""
        ...

    @property
    def schemas(self) -> Sequence[Schema]:
        """Tools that the chat template is to list."""
        ...

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

    def shortened(self, room: int, count: Count) -> list[dict[str, str]] | None:
        """The conversation so far within `room` tokens, to go on from; None where it cannot be shortened."""
        ...

    def close(self) -> None:
        """Let go of whatever the episode holds."""
        ...


class Brief:
    """What episodes are that end soon: fast, without listed tools, without a memory, holding nothing."""

    blocking = False
    schemas: Sequence[Schema] = ()

    def shortened(self, room: int, count: Count) -> list[dict[str, str]] | None:
        """There is no memory."""
        del room, count
        return None

    def close(self) -> None:
        """Nothing is held."""


class TaskSource(Protocol):
    """Where tasks come from."""

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` tasks of the split's stream for `seed`; more of them extend the same stream."""
        ...

    def task(self, task_id: str) -> Task:
        """The task with this id."""
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
