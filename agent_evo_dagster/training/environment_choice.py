"""The environment and the limits that a configuration asks for, its own parts and a person's put together."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.agents.base import AgentSetup, BaseAgent, Listing
from agent_evo_dagster.training.agents.episode import AgentEnvironment, MakeEnv
from agent_evo_dagster.training.agents.tool_agent import ToolAgent
from agent_evo_dagster.training.agents.wrapper import EngineWrapper
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.datasets.registry import Opened, open_dataset
from agent_evo_dagster.training.engines import Engine
from agent_evo_dagster.training.environments.arithmetic import LIMITS
from agent_evo_dagster.training.environments.base import BaseEnv
from agent_evo_dagster.training.environments.math_calc import MathCalcEnv
from agent_evo_dagster.training.environments.rewards import BinaryReward, Reward, ShapedReward
from agent_evo_dagster.training.environments.tool_env import ToolEnv
from agent_evo_dagster.training.environments.tools import Tool
from agent_evo_dagster.training.memory.simple import SimpleMemory
from agent_evo_dagster.training.memory.summariser import PolicySummariser
from agent_evo_dagster.training.memory.summary import Summarise, SummaryMemory
from agent_evo_dagster.training.memory.types import Memory
from agent_evo_dagster.training.own_files import own_hashes
from agent_evo_dagster.training.own_parts import own_reward, own_tools
from agent_evo_dagster.training.plugins import is_reference, load_class
from agent_evo_dagster.training.rollout.types import Limits
from agent_evo_dagster.training.tool_calls.registry import format_of, named_format
from agent_evo_dagster.training.tool_calls.types import ToolCallFormat

ENVIRONMENTS = ("arithmetic", "math_calc", "tools")
SUMMARY_TOKENS = 256


@dataclass(frozen=True)
class _Parts:
    """How attempts are made, before the policy is known."""

    make_env: MakeEnv
    make_agent: Callable[[AgentSetup], BaseAgent]
    reward_names: Sequence[str]
    limits: Limits


def environment_for(config: TrainingConfig, engine: Engine, tick: Callable[[], None]) -> AgentEnvironment:
    """The environment in which the policy behind `engine` is trained and evaluated."""
    attempt = partial(engine.attempt, tick=tick)
    summarise = PolicySummariser(attempt, engine.renderer.text, SUMMARY_TOKENS)
    return environment_of(config, engine.renderer.chat_template, summarise)


def environment_of(
    config: TrainingConfig, chat_template: str | None = None, summarise: Summarise | None = None
) -> AgentEnvironment:
    """The tasks of `config`, attempted as its agents do.

    Args:
        config: Names data set, environment, agent, tools, reward, format and memory.
        chat_template: Of the policy, which tells its format of calls; without it tasks can be had, but no
            attempts where the format is not set.
        summarise: Who summarises, where the memory does.

    Raises:
        TrainingError: a part is missing, contradicts another, or cannot be loaded.
    """
    _refuse_contradictions(config)
    opened = open_dataset(config)
    _tell_dropped(opened)
    parts = _parts(config)
    memory = _memory(config, summarise)
    listing = _listing(config, chat_template)

    def make_agent(tools: tuple[Tool, ...]) -> BaseAgent:
        return parts.make_agent(AgentSetup(_format(config, chat_template), tools, listing, memory))

    return AgentEnvironment(
        opened.source,
        parts.make_env,
        make_agent,
        reward_names=parts.reward_names,
        limits=replace(
            parts.limits, context_length=config.context_length or None, turn_seconds=config.turn_seconds
        ),
        inputs=_inputs(config, opened),
    )


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


def _parts(config: TrainingConfig) -> _Parts:
    for name, shipped in (("environment", ENVIRONMENTS), ("agent", ("tool",))):
        value = getattr(config, name)
        if not config.engine_wrapper and value not in shipped and not is_reference(value):
            raise TrainingError(
                f"{name} = {value!r} is none of {', '.join(shipped)}, and no FILE.py:Class or package:Class."
            )
    # what load_class gives is never abstract, although what it is asked for is
    if config.engine_wrapper:
        wrapper = load_class(config.engine_wrapper, EngineWrapper, "engine_wrapper")(config.agent)  # type: ignore[type-abstract]
        return _Parts(wrapper.environment, wrapper.agent, wrapper.reward_names, wrapper.limits)
    agent = ToolAgent if config.agent == "tool" else load_class(config.agent, BaseAgent, "agent")  # type: ignore[type-abstract]
    if config.environment not in ENVIRONMENTS:
        kind = load_class(config.environment, BaseEnv, "environment")  # type: ignore[type-abstract]
        return _Parts(kind, agent, kind.reward_names, kind.limits)
    reward = _reward(config.reward)
    tools = own_tools(config.tools) if config.tools else ()
    if config.environment == "tools":
        make_env: MakeEnv = partial(ToolEnv, tools=tools, reward=reward, seconds=config.tool_seconds)
    else:
        make_env = partial(MathCalcEnv, reward=reward, more_tools=tools, seconds=config.tool_seconds)
    limits = LIMITS if config.environment == "arithmetic" else BaseEnv.limits
    return _Parts(make_env, agent, reward.names, limits)


def _refuse_contradictions(config: TrainingConfig) -> None:
    """What is set must have an effect."""
    own = config.engine_wrapper or config.environment not in ENVIRONMENTS
    wrong = {
        "environment beside engine_wrapper, which brings its own": config.engine_wrapper
        and config.environment != "arithmetic",
        "reward, and an environment of yours scores itself": own and config.reward != "shaped",
        "tools, and an environment of yours brings its own": own and config.tools,
        "tools, which the prompt of the environment arithmetic does not list: use math_calc": not own
        and config.environment == "arithmetic"
        and config.tools,
        "environment=tools without tools": config.environment == "tools" and not config.tools,
        "summary_fallback without memory=summary": config.summary_fallback != "none"
        and config.memory != "summary",
    }
    found = [what for what, holds in wrong.items() if holds]
    if found:
        raise TrainingError(
            f"These settings have no effect together: {'; '.join(found)}. Remove one of them."
        )


def _reward(name: str) -> Reward:
    if name == "shaped":
        return ShapedReward()
    return BinaryReward() if name == "binary" else own_reward(name)


def _format(config: TrainingConfig, chat_template: str | None) -> ToolCallFormat:
    if config.tool_format != "auto":
        return named_format(config.tool_format)
    if chat_template is None:
        raise TrainingError("tool_format=auto needs the policy's chat template, and there is no policy here.")
    return named_format(format_of(chat_template))


def _listing(config: TrainingConfig, chat_template: str | None) -> Listing:
    if config.tool_listing != "auto":
        return config.tool_listing
    if config.environment == "arithmetic" and not config.engine_wrapper:
        return "none"
    return "template" if chat_template is not None and "tools" in chat_template else "system"


def _memory(config: TrainingConfig, summarise: Summarise | None) -> Memory | None:
    if config.memory == "none":
        return None
    if config.memory == "simple":
        return SimpleMemory()
    return SummaryMemory(summarise or _nobody, config.summary_fallback)


def _nobody(text: str) -> str:
    del text
    return ""


def _inputs(config: TrainingConfig, opened: Opened) -> dict[str, object]:
    """What decides the run beside its settings: hashes of files, and what became of rows."""
    hashes = own_hashes(config)
    told: dict[str, object] = {"sha256": hashes} if hashes else {}
    if opened.dropped is not None:
        told["rows"] = {"read": opened.rows, "dropped": opened.dropped, "kept": opened.kept}
    return told


def _tell_dropped(opened: Opened) -> None:
    reasons = {reason: count for reason, count in (opened.dropped or {}).items() if count}
    if reasons:
        logging.getLogger(__name__).warning("Of %d rows these were dropped: %s", opened.rows, reasons)
