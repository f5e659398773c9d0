"""Environments in which a question is answered with tools. Which tools and which reward is their caller's."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.rewards import Outcome, Reward
from agent_evo_dagster.training.environments.tools import Parameter, Tool, ToolBox
from agent_evo_dagster.training.environments.types import Reply, Score, Task, ToolFault, ToolUse
from agent_evo_dagster.training.tool_calls.types import ToolCall

if TYPE_CHECKING:
    from agent_evo_dagster.training.agents.types import Action

FINISH = "finish"


@cache
def finish_tool() -> Tool:
    """The tool that gives the answer and ends the attempt."""
    response = Parameter(description="The answer alone.")
    return Tool(FINISH, "Give the final answer.", {"response": response}, _answered, pure=True)


def _answered(response: str) -> str:
    return response


class ToolEnv(BaseEnv):
    """One attempt with `tools` and `finish`. A turn without any call ends it without an answer."""

    def __init__(
        self, task: Task, tools: Sequence[Tool], reward: Reward, seconds: float | None = None
    ) -> None:
        super().__init__(task)
        self._tools = (*tools, finish_tool())
        self._box = ToolBox(self._tools, seconds)
        self._reward = reward
        self.blocking = not all(tool.pure for tool in self._tools)
        self._answer: str | None = None
        self._calls = 0
        self._succeeded = 0
        self._faults: Counter[str] = Counter()
        self._recovered = 0

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, `finish` the last."""
        return self._tools

    def step(self, action: "Action") -> Reply:
        """Execute the calls of one turn in their order; a malformed one gets its fault as its result."""
        results = []
        self._recovered += len(action.recovered)
        for item in action.items:
            if isinstance(item, ToolCall):
                results.append(self._execute(item))
            else:
                self._faults[item.fault] += 1
                results.append(item.message)
            if self._answer is not None:
                break
        return Reply(tuple(results), done=not action.items or self._answer is not None)

    def _execute(self, call: ToolCall) -> str:
        result = self._box.execute(call)
        if result.fault is not None:
            self._faults[result.fault] += 1
        if result.fault is not ToolFault.BAD_ARGUMENTS:
            self._calls += 1
        if call.name == FINISH and result.fault is None:
            self._answer = result.text
            return ""
        self._succeeded += result.fault is None
        return result.text

    def score(self) -> Score:
        """The reward of what has happened so far."""
        answered_for = self._faults[ToolFault.REFUSED] + self._faults[ToolFault.TOOL_TIMEOUT]
        malformed = self._faults.total() - answered_for
        return self._reward(Outcome(self.task, self._answer, self._calls, self._succeeded, malformed))

    def tool_use(self) -> ToolUse:
        """Counts of well-formed calls, and of calls that were not done, by kind of fault."""
        faults = {str(kind): count for kind, count in sorted(self._faults.items()) if count}
        return ToolUse(self._calls, self._faults.total(), faults, self._recovered)
