"""The class that environments derive from. How calls are written and shown is the agent's."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_evo_dagster.training.environments.tools import Tool
from agent_evo_dagster.training.environments.types import Reply, Score, Task, ToolUse
from agent_evo_dagster.training.rollout.types import Limits

if TYPE_CHECKING:
    from agent_evo_dagster.training.agents.types import Action


class BaseEnv(ABC):
    """The state of one attempt at one task; each attempt has a new one.

    What it raises is its own failure, not the policy's: the rollout ends as `infra_error` and trains nothing.
    What the policy did wrong is told to it in a reply.
    """

    reward_names: Sequence[str] = ("correct",)  # the components of every score
    limits: Limits = Limits(max_turns=8, max_new_tokens=512, max_completion_length=4096)  # of evaluations
    # Steps may take long: they run on threads, beside each other. False only where they are pure and fast.
    blocking: bool = True

    def __init__(self, task: Task) -> None:
        self.task = task

    @property
    def tools(self) -> Sequence[Tool]:
        """What the agent may call."""
        return ()

    def reset(self) -> str:
        """Make ready; returns the question."""
        return self.task.question

    @abstractmethod
    def step(self, action: "Action") -> Reply:
        """Do what one turn asks for."""

    @abstractmethod
    def score(self) -> Score:
        """The reward of what has happened so far, by its named components."""

    def tool_use(self) -> ToolUse:
        """Counts of tool calls so far."""
        return ToolUse(calls=0, errors=0)

    def close(self) -> None:  # noqa: B027  # most environments hold nothing
        """Let go of whatever the environment holds. Called once, when the rollout has been scored."""
