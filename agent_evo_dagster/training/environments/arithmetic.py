"""The arithmetic environment: the embedded policy's own problems, its two tools, and the shaped reward."""

from agent_evo_dagster.training.agents.base import AgentSetup
from agent_evo_dagster.training.agents.episode import AgentEnvironment
from agent_evo_dagster.training.agents.tool_agent import ToolAgent
from agent_evo_dagster.training.datasets.arithmetic import GeneratedArithmetic
from agent_evo_dagster.training.environments.math_calc import MathCalcEnv
from agent_evo_dagster.training.environments.rewards import ShapedReward
from agent_evo_dagster.training.rollout.types import Limits
from agent_evo_dagster.training.tool_calls.types import ToolCallFormat

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)  # of evaluations


class ArithmeticEnvironment(AgentEnvironment):
    """Generated problems with `calculate` and `finish`; the prompt does not list them."""

    def __init__(self, call_format: ToolCallFormat) -> None:
        reward = ShapedReward()
        super().__init__(
            GeneratedArithmetic(),
            lambda task: MathCalcEnv(task, reward),
            lambda tools: ToolAgent(AgentSetup(call_format, tools)),
            reward_names=reward.names,
            limits=LIMITS,
        )
