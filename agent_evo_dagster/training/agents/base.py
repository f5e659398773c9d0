"""The class that agents derive from. What they may call and how they are scored is the environment's."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_evo_dagster.training.agents.types import Action, Message, Trajectory
from agent_evo_dagster.training.environments.tools import Tool
from agent_evo_dagster.training.environments.types import Reply
from agent_evo_dagster.training.memory.types import Memory
from agent_evo_dagster.training.rollout.types import Count, Schema
from agent_evo_dagster.training.tool_calls.types import ToolCallFormat

Listing = Literal["none", "template", "system"]  # how the agent is told which tools there are


@dataclass(frozen=True)
class AgentSetup:
    """What an agent is given: the format of its calls, its tools, and its memory."""

    call_format: ToolCallFormat
    tools: tuple[Tool, ...]
    listing: Listing = "none"
    memory: Memory | None = None


class BaseAgent(ABC):
    """One agent in one conversation; each attempt at a task has a new one."""

    def __init__(self, setup: AgentSetup) -> None:
        self.setup = setup
        self.tool_names = frozenset(tool.name for tool in setup.tools)

    @property
    def schemas(self) -> Sequence[Schema]:
        """Tools that the chat template is to list."""
        return ()

    @abstractmethod
    def opening(self, question: str) -> list[Message]:
        """Messages before the first turn."""

    @abstractmethod
    def act(self, text: str) -> Action:
        """What the assistant turn `text` asks for. It must not raise on any text: a model wrote it."""

    def observe(self, action: Action, reply: Reply) -> Reply:
        """What the agent is shown of the environment's reply."""
        del action
        return reply

    def shortened(self, so_far: Trajectory, room: int, count: Count) -> list[Message] | None:
        """The conversation within `room` tokens, or None where this agent keeps no memory.

        It takes the place of all that was said: what is sampled afterwards continues it.
        """
        memory = self.setup.memory
        return None if memory is None else memory.shorten(so_far.messages, room, count)
