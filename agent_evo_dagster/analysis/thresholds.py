"""Thresholds of the training diagnoses, typed. The values are in thresholds.yaml, the rules in diagnoses."""

from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.analysis.types import Direction
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.strict_yaml import read_mapping


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


class _Rule(_Section):
    source: str  # where the values come from
    look_at: tuple[str, ...]  # the first things to look at, settings by their names
    move: Move | None  # the setting that the finding points to; null where none can be named


class LearningThresholds(_Rule):
    """When the reward rises too slowly; rises are per 10 steps."""

    reward_maximum: float
    enough_headroom: float
    fast_rise: float
    fast_share: float
    flat_rise: float
    no_gradient: float


class CollapseThresholds(_Rule):
    """When the reward has fallen from its peak."""

    smooth_steps: int = Field(ge=1)
    fall: float
    noise_multiple: float


class KlThresholds(_Rule):
    """When the policy runs away from where it started."""

    high: float
    grave: float


class GradientThresholds(_Rule):
    """When an update is out of proportion, or no number at all."""

    high: float
    explosion: float


class ClipHighThresholds(_Rule):
    """When too many of the ratios are clipped."""

    share: float


class ClipLowThresholds(_Rule):
    """When hardly a ratio is clipped, the policy stays where it is, and the reward too."""

    share: float
    kl_still: float


class ZeroVarianceThresholds(_Rule):
    """When groups of rollouts are too alike to learn from."""

    share: float
    solved_reward: float
    entropy_low: float
    move_when_greedy: Move


class LengthThresholds(_Rule):
    """When completions grow without end; growth is a share of the length at the start, per 10 steps."""

    growth: float
    truncated: float


class TruncationThresholds(_Rule):
    """When rollouts are cut at a token limit."""

    share: float
    grave_share: float
    at_limit: float
    move_rollout: Move


class TurnLimitThresholds(_Rule):
    """When rollouts use up their turns, or are aborted."""

    share: float
    aborted: float
    at_limit: float
    low_reward: float


class ModeCollapseThresholds(_Rule):
    """When the policy has stopped exploring."""

    entropy_low: float
    alike: float
    length_spread: float
    clip_fraction: float


class HeldOutThresholds(_Rule):
    """When the training reward rises while the held-out score falls."""

    rise: float
    fall: float


class MemoryThresholds(_Rule):
    """What a run that ran out of memory leaves behind."""

    words: tuple[str, ...]
    exit_codes: tuple[int, ...]


class SignThresholds(_Section):
    """From where on a sign counts as seen; each is used by the sign of its name in syndromes/signs.py."""

    entropy_swing: float
    entropy_low: float
    entropy_fall: float
    gradient_spike: float
    loss_swing: float
    reward_flat: float
    reward_early: float
    reward_std_small: float
    clip_fraction_small: float
    kl_still: float
    gradient_still: float
    length_growth: float
    length_short: float
    reward_length_correlation: float
    rollout_kl: float
    sample_size: float


class Syndrome(_Section):
    """Signs that together make a hypothesis: `must` and `least` of all are seen."""

    words: str
    signs: tuple[str, ...]
    must: tuple[str, ...] = ()
    least: int = Field(ge=1)
    source: str
    look_at: tuple[str, ...]
    move: Move | None


class Thresholds(_Section):
    """The whole table."""

    target_skill: str
    names: dict[str, tuple[str, ...]]
    window: Window
    learning: LearningThresholds
    collapse: CollapseThresholds
    kl_divergence: KlThresholds
    mode_collapse: ModeCollapseThresholds
    length_runaway: LengthThresholds
    gradient_explosion: GradientThresholds
    out_of_memory: MemoryThresholds
    turn_limit: TurnLimitThresholds
    held_out_gap: HeldOutThresholds
    clip_fraction_high: ClipHighThresholds
    clip_fraction_low: ClipLowThresholds
    zero_variance: ZeroVarianceThresholds
    truncation: TruncationThresholds
    signs: SignThresholds
    syndromes: dict[str, Syndrome]
    hypothesis_confidence: float = Field(gt=0, lt=1)


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
    return read_mapping(path, error=AnalysisError, origin=f"The file of training thresholds {path}")


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merged(base[key], value) if both else value
    return merged
