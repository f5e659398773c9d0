"""Kinds of ends of a rollout, and what each means for training. One table, read by code and docs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from agent_evo_dagster.training.types import Finish

Truncated = Literal["score", "mask"]  # what is done with a rollout that was cut at a limit of tokens


class Ending(StrEnum):
    """Whose doing the end of a rollout was."""

    POLICY = "policy"  # it finished, or used up its turns: its reward is its own
    TRUNCATED = "truncated"  # cut at a limit of tokens: nothing of a cut turn was executed
    TIMEOUT = "timeout"  # a deadline passed: whose fault it was is not known
    INFRASTRUCTURE = "infrastructure"  # the environment failed: it says nothing of the policy


ENDINGS: Mapping[Finish, Ending] = {
    Finish.STOP: Ending.POLICY,
    Finish.TOOL_LIMIT: Ending.POLICY,
    Finish.LENGTH: Ending.TRUNCATED,
    Finish.TIMEOUT: Ending.TIMEOUT,
    Finish.INFRA_ERROR: Ending.INFRASTRUCTURE,
}


def failed(finish: Finish) -> bool:
    """Whether the rollout has no score and is attempted again: a missing reward is not a reward of 0."""
    return ENDINGS[finish] in (Ending.TIMEOUT, Ending.INFRASTRUCTURE)


def trains(finish: Finish, truncated: Truncated) -> bool:
    """Whether the rollout's tokens move the policy."""
    return not failed(finish) and (truncated == "score" or ENDINGS[finish] is not Ending.TRUNCATED)
