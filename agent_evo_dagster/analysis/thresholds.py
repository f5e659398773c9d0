"""Thresholds of the training diagnoses, typed. The values are in thresholds.yaml, the rules in diagnoses."""

from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.analysis.types import Direction
from agent_evo_dagster.errors import AnalysisError


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Move(_Section):
    """How a setting is moved; `limit` is the value that the move itself does not pass."""

    setting: str
    direction: Direction
    factor: float = Field(gt=1)
    limit: float | None


class Window(_Section):
    """Which steps a trend is judged over."""

    minimum_steps: int = Field(ge=3)
    maximum_steps: int = Field(ge=3, le=1000)


class LearningThresholds(_Section):
    """When the reward rises too slowly; rises are per 10 steps."""

    reward_maximum: float
    enough_headroom: float
    fast_rise: float
    fast_share: float
    flat_rise: float
    no_gradient: float
    move: Move


class CollapseThresholds(_Section):
    """When the reward has fallen from its peak."""

    smooth_steps: int = Field(ge=1)
    fall: float
    noise_multiple: float
    move: Move


class DivergenceThresholds(_Section):
    """When an update is out of proportion."""

    grad_norm_high: float
    grad_norm_explosion: float
    kl_high: float
    clip_fraction_high: float
    move: Move


class ZeroVarianceThresholds(_Section):
    """When groups of rollouts are too alike to learn from."""

    share: float
    solved_reward: float
    entropy_low: float
    move: Move
    move_when_greedy: Move


class TruncationThresholds(_Section):
    """When rollouts are cut at a token limit."""

    share: float
    grave_share: float
    at_limit: float
    move_turn: Move
    move_rollout: Move


class TurnLimitThresholds(_Section):
    """When rollouts use up their turns."""

    share: float
    move: Move


class ModeCollapseThresholds(_Section):
    """When the policy has stopped exploring."""

    entropy_low: float
    alike: float
    move: Move


class Thresholds(_Section):
    """The whole table."""

    target_skill: str
    names: dict[str, tuple[str, ...]]
    window: Window
    learning: LearningThresholds
    collapse: CollapseThresholds
    divergence: DivergenceThresholds
    zero_variance: ZeroVarianceThresholds
    truncation: TruncationThresholds
    turn_limit: TurnLimitThresholds
    mode_collapse: ModeCollapseThresholds


def load_thresholds(override: Path | None = None) -> Thresholds:
    """The shipped table, with the keys of the file `override` in place of its own.

    Raises:
        AnalysisError: the file cannot be read, or has a key or value that the table does not know.
    """
    shipped = resources.files("agent_evo_dagster.analysis").joinpath("thresholds.yaml")
    table: dict[str, Any] = yaml.safe_load(shipped.read_text("utf-8"))
    if override is not None:
        table = _merged(table, _read(override))
    try:
        return Thresholds.model_validate(table)
    except ValidationError as error:
        raise AnalysisError(
            f"The training thresholds in {override or shipped} are not usable: {error}. "
            "Compare their keys with the thresholds.yaml that is shipped."
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        table = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise AnalysisError(f"The training thresholds in {path} cannot be read: {error}.") from error
    if not isinstance(table, dict):
        raise AnalysisError(f"The training thresholds in {path} must be a mapping, as in the shipped file.")
    return table


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merged(base[key], value) if both else value
    return merged
