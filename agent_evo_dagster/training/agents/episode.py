"""One agent in one environment, as the episode that a rollout talks to. No tokens here."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.agents.base import BaseAgent
from agent_evo_dagster.training.agents.types import Message, Step, Trajectory
from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.tools import Tool
from agent_evo_dagster.training.environments.types import Reply, Score, Split, Task, TaskSource, ToolUse
from agent_evo_dagster.training.rollout.types import Count, Limits, Schema

MakeAgent = Callable[[tuple[Tool, ...]], BaseAgent]
MakeEnv = Callable[[Task], BaseEnv]


class AgentEpisode:
    """One attempt at one task."""

    def __init__(self, env: BaseEnv, agent: BaseAgent, reward_names: Sequence[str]) -> None:
        self.task = env.task
        self.blocking = env.blocking
        self._env = env
        self._agent = agent
        self._reward_names = reward_names
        self._opening: tuple[Message, ...] = ()
        self._steps: list[Step] = []

    @property
    def schemas(self) -> Sequence[Schema]:
        """Tools that the chat template is to list."""
        return self._agent.schemas

    @property
    def so_far(self) -> Trajectory:
        """The conversation in words."""
        return Trajectory(self.task, self._opening, tuple(self._steps))

    def opening(self) -> list[Message]:
        """What the agent says to begin with."""
        opening = self._agent.opening(self._env.reset())
        self._opening = tuple(opening)
        return opening

    def act(self, text: str) -> Reply:
        """Let the environment do what the turn asks for."""
        action = self._agent.act(text)
        reply = self._agent.observe(action, self._env.step(action))
        self._steps.append(Step(action, reply))
        return reply

    def shortened(self, room: int, count: Count) -> list[Message] | None:
        """The conversation within `room` tokens, where the agent keeps a memory."""
        return self._agent.shortened(self.so_far, room, count)

    def score(self) -> Score:
        """The environment's reward.

        Raises:
            TrainingError: it has other components than it announced, or one that is not a finite number.
        """
        score = self._env.score()
        if set(score.components) != set(self._reward_names):
            raise TrainingError(
                f"The reward has the components {sorted(score.components)}; announced were "
                f"{sorted(self._reward_names)}. Name all of them in reward_names, and return each every time."
            )
        if not all(math.isfinite(value) for value in score.components.values()):
            raise TrainingError(f"The reward {dict(score.components)} is not finite.")
        return score

    def tool_use(self) -> ToolUse:
        """The environment's counts."""
        return self._env.tool_use()

    def close(self) -> None:
        """Let go of what the environment holds."""
        self._env.close()


class AgentEnvironment:
    """Tasks of one source, attempted by agents in environments of one kind."""

    def __init__(
        self,
        source: TaskSource,
        make_env: MakeEnv,
        make_agent: MakeAgent,
        *,
        reward_names: Sequence[str],
        limits: Limits,
        inputs: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._source = source
        self._make_env = make_env
        self._make_agent = make_agent
        self.reward_names = reward_names
        self.limits = limits
        self.inputs = inputs  # hashes and counts of what was read, for the record

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` tasks of the split's stream for `seed`."""
        return self._source.tasks(split, count, seed)

    def task(self, task_id: str) -> Task:
        """The task with this id."""
        return self._source.task(task_id)

    def episode(self, task: Task) -> AgentEpisode:
        """A new attempt at `task`, with an environment and an agent of its own."""
        env = self._make_env(task)
        return AgentEpisode(env, self._make_agent(tuple(env.tools)), self.reward_names)
