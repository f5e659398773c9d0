"""The class by which one file brings agent and environment together: a pluggable engine wrapper."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agent_evo_dagster.training.agents.base import AgentSetup, BaseAgent
from agent_evo_dagster.training.agents.tool_agent import ToolAgent
from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.types import Task
from agent_evo_dagster.training.rollout.types import Limits


class EngineWrapper(ABC):
    """Derive from it in a file of your own and name the file with `engine_wrapper`."""

    reward_names: Sequence[str] = ("correct",)
    limits: Limits = Limits(max_turns=8, max_new_tokens=512, max_completion_length=4096)  # of evaluations

    def __init__(self, agent_name: str) -> None:
        self.agent_name = agent_name

    @abstractmethod
    def environment(self, task: Task) -> BaseEnv:
        """A new environment for one attempt at `task`."""

    def agent(self, setup: AgentSetup) -> BaseAgent:
        """A new agent for one attempt."""
        return ToolAgent(setup)
