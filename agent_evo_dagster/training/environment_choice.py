"""The limits of rollouts that a configuration asks for."""

from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
from agent_evo_dagster.training.environments.types import Environment
from agent_evo_dagster.training.rollout.types import Limits
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat


def environment_of(config: TrainingConfig) -> Environment:
    """The tasks of `config.dataset`, attempted as its agents do."""
    assert config.dataset == "arithmetic"  # the only one so far; the type says so too
    return ArithmeticEnvironment(HermesFormat())


def rollout_limits(config: TrainingConfig) -> Limits:
    """How much a rollout of the training may use; an evaluation has its environment's own limits."""
    return Limits(
        config.max_turns,
        config.max_new_tokens,
        config.max_completion_length,
        config.context_length or None,
        config.turn_seconds,
        config.rollout_seconds or None,
    )
