"""Mathematics with a calculator. Expressions are bounded before they are computed; answers are read."""

from collections.abc import Sequence
from functools import cache

from agent_evo_dagster.training.environments.answers import format_number
from agent_evo_dagster.training.environments.calculator import CalculatorError, calculate
from agent_evo_dagster.training.environments.rewards import Reward
from agent_evo_dagster.training.environments.tool_env import ToolEnv
from agent_evo_dagster.training.environments.tools import Parameter, Tool, ToolRefusedError
from agent_evo_dagster.training.environments.types import Task

CALCULATE = "calculate"


@cache
def calculator_tool() -> Tool:
    """Exact arithmetic as a tool."""
    description = "Evaluate one arithmetic expression with + - * / and parentheses, exactly."
    return Tool(CALCULATE, description, {"expression": Parameter()}, _calculated, pure=True)


class MathCalcEnv(ToolEnv):
    """A problem, a calculator, and `finish` for the answer."""

    def __init__(
        self, task: Task, reward: Reward, more_tools: Sequence[Tool] = (), seconds: float | None = None
    ) -> None:
        super().__init__(task, (calculator_tool(), *more_tools), reward, seconds)


def _calculated(expression: str) -> str:
    try:
        return format_number(calculate(expression))
    except CalculatorError as error:
        raise ToolRefusedError(str(error)) from error
