"""The signs that syndromes are made of, by name: seen, absent, or not to be told from what was logged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

from agent_evo_dagster.analysis.diagnoses.collapse import fall_of
from agent_evo_dagster.analysis.diagnoses.length_runaway import growth_of
from agent_evo_dagster.analysis.diagnoses.rise import rise_of
from agent_evo_dagster.analysis.diagnoses.turn_limit import at_limit
from agent_evo_dagster.analysis.series import Run, Series
from agent_evo_dagster.analysis.text import fixed, number, signed
from agent_evo_dagster.analysis.trends import step_noise


@dataclass(frozen=True, slots=True)
class Sign:
    """What was looked for in one metric: `seen` is None where the metric was not logged long enough."""

    seen: bool | None
    words: str
    series: Series


Look: TypeAlias = Callable[[Run], Sign]


def _trended(run: Run, name: str) -> Series | None:
    """The series of that name where it is long enough to speak of a trend."""
    series = run.get(name).last_steps(run.thresholds.window.maximum_steps)
    return series if len(series.values) >= run.thresholds.window.minimum_steps else None


def _untold(run: Run, name: str) -> Sign:
    series, least = run.get(name), run.thresholds.window.minimum_steps
    few = f"{name} has {len(series.values)} steps, and a trend needs {least}"
    return Sign(None, few if series else f"{name} not logged", series)


def _kl_high(run: Run) -> Sign:
    kl = _trended(run, "kl")
    if kl is None:
        return _untold(run, "kl")
    return Sign(kl.end > run.thresholds.kl_divergence.high, f"KL is {number(kl.end)} at the end", kl)


def _swings(name: str, limit: str) -> Look:
    def look(run: Run) -> Sign:
        series = _trended(run, name)
        if series is None:
            return _untold(run, name)
        size = sum(map(abs, series.values)) / len(series.values)
        swing = step_noise(series.values) / size if size else 0.0
        words = f"{name} wavers by {number(100 * swing)} % of its size from step to step"
        return Sign(swing > getattr(run.thresholds.signs, limit), words, series)

    return look


def _gradient_spikes(run: Run) -> Sign:
    grad = _trended(run, "grad_norm")
    if grad is None:
        return _untold(run, "grad_norm")
    usual, highest = median(grad.values), max(grad.values)
    spikes = usual > 0 and highest > run.thresholds.signs.gradient_spike * usual
    return Sign(spikes, f"gradient norm reaches {number(highest)}, usually {number(usual)}", grad)


def _entropy_falls(run: Run) -> Sign:
    entropy = _trended(run, "entropy")
    if entropy is None:
        return _untold(run, "entropy")
    share = (entropy.start - entropy.end) / entropy.start if entropy.start > 0 else 0.0
    falls = share >= run.thresholds.signs.entropy_fall and entropy.trend.slope < 0
    return Sign(falls, f"entropy falls from {fixed(entropy.start, 3)} to {fixed(entropy.end, 3)}", entropy)


def _entropy_low_and_falling(run: Run) -> Sign:
    entropy = _trended(run, "entropy")
    if entropy is None:
        return _untold(run, "entropy")
    low = entropy.end < run.thresholds.signs.entropy_low and entropy.trend.slope < 0
    return Sign(low, f"entropy is down to {fixed(entropy.end, 3)}", entropy)


def _reward_stalls(run: Run) -> Sign:
    """Flat over the later half, below what would be enough."""
    reward = _trended(run, "reward")
    if reward is None:
        return _untold(run, "reward")
    later = reward.later_half()
    rise = later.trend.over(10)[0]
    limits = run.thresholds
    room = limits.learning.reward_maximum - reward.end > limits.learning.enough_headroom
    words = f"reward moves by {signed(rise)} per 10 steps in the later half"
    return Sign(abs(rise) < limits.signs.reward_flat and room, words, reward)


def _reward_flat_from_start(run: Run) -> Sign:
    rise = rise_of(run)
    if rise is None:
        return _untold(run, "reward")
    flat = abs(rise.rise) < run.thresholds.signs.reward_flat and not rise.learnt
    return Sign(flat, f"reward moves by {signed(rise.rise)} per 10 steps from the start", rise.reward)


def _reward_high_early(run: Run) -> Sign:
    """Most of the rise to the peak is there after a quarter of the steps."""
    reward = _trended(run, "reward")
    if reward is None:
        return _untold(run, "reward")
    early = reward.values[: max(3, len(reward.values) // 4)]
    rise = max(reward.values) - reward.values[0]
    share = (max(early) - reward.values[0]) / rise if rise > 0 else 0.0
    fast = rise >= run.thresholds.collapse.fall and share >= run.thresholds.signs.reward_early
    words = f"{number(100 * share)} % of the rise of {fixed(rise)} came in the first {len(early)} steps"
    return Sign(fast, words, reward)


def _reward_fell(run: Run) -> Sign:
    reward, fall = _trended(run, "reward"), fall_of(run)
    if reward is None:
        return _untold(run, "reward")
    words = "reward did not fall" if fall is None else f"reward fell by {fixed(fall.size)} from its peak"
    return Sign(fall is not None, words, reward)


def _below(name: str, limit: str) -> Look:
    """The mean of the later half lies below a limit, in size."""

    def look(run: Run) -> Sign:
        series = _trended(run, name)
        if series is None:
            return _untold(run, name)
        mean = series.later_half().mean or 0.0
        return Sign(abs(mean) < getattr(run.thresholds.signs, limit), f"{name} is {number(mean)}", series)

    return look


def _length_grows(run: Run) -> Sign:
    length = _trended(run, "length")
    if length is None:
        return _untold(run, "length")
    growth, surely = growth_of(length)
    grows = growth >= run.thresholds.signs.length_growth and surely > 0
    return Sign(grows, f"length changes by {number(100 * growth)} % per 10 steps", length)


def _length_very_short(run: Run) -> Sign:
    length = _trended(run, "length")
    if length is None:
        return _untold(run, "length")
    short = length.end < run.thresholds.signs.length_short * length.start
    return Sign(short, f"length goes from {number(length.start)} to {number(length.end)} tokens", length)


def _clipped_grows(run: Run) -> Sign:
    cut = _trended(run, "truncated")
    if cut is None:
        return _untold(run, "truncated")
    grows = cut.end > cut.start and cut.end > run.thresholds.truncation.share
    return Sign(grows, f"{number(100 * cut.end)} % of the completions are cut at the end", cut)


def _long_is_rewarded(run: Run) -> Sign:
    found, length = run.rollouts.length_reward, run.get("length")
    if found is None:
        return Sign(None, "no rollouts to compare length and reward", length)
    limit = run.thresholds.signs.reward_length_correlation
    return Sign(found >= limit, f"length and reward of rollouts correlate by {fixed(found)}", length)


def _rollout_kl_high(run: Run) -> Sign:
    kl = run.get("rollout_kl")
    if not kl:
        return _untold(run, "rollout_kl")
    high = kl.end > run.thresholds.signs.rollout_kl
    return Sign(high, f"KL of rollout and trainer is {number(kl.end)}", kl)


def _sample_size_small(run: Run) -> Sign:
    size = run.get("sample_size")
    if not size:
        return _untold(run, "sample_size")
    small = size.end < run.thresholds.signs.sample_size
    return Sign(small, f"effective sample size is {number(size.end)}", size)


def _turns_at_limit(run: Run) -> Sign:
    turns, share = run.get("turns"), run.rollouts.share("tool_limit")
    if not turns and not run.rollouts.rollouts:
        return _untold(run, "turns")
    seen = at_limit(run) or share >= run.thresholds.turn_limit.share
    words = f"{number(100 * share)} % of the rollouts used up their turns"
    return Sign(seen, f"mean of the turns is {number(turns.end)}" if turns else words, turns)


def _aborted_high(run: Run) -> Sign:
    aborted = run.get("aborted")
    if not aborted:
        return _untold(run, "aborted")
    high = aborted.end > run.thresholds.turn_limit.aborted
    return Sign(high, f"{number(100 * aborted.end)} % of the responses are aborted", aborted)


SIGNS: Final[Mapping[str, Look]] = {
    "aborted_high": _aborted_high,
    "clip_fraction_small": _below("clip_fraction", "clip_fraction_small"),
    "clipped_grows": _clipped_grows,
    "entropy_falls": _entropy_falls,
    "entropy_low_and_falling": _entropy_low_and_falling,
    "entropy_swings": _swings("entropy", "entropy_swing"),
    "gradient_spikes": _gradient_spikes,
    "gradient_still": _below("grad_norm", "gradient_still"),
    "kl_high": _kl_high,
    "kl_still": _below("kl", "kl_still"),
    "length_grows": _length_grows,
    "length_very_short": _length_very_short,
    "long_is_rewarded": _long_is_rewarded,
    "loss_swings": _swings("loss", "loss_swing"),
    "reward_fell": _reward_fell,
    "reward_flat_from_start": _reward_flat_from_start,
    "reward_high_early": _reward_high_early,
    "reward_stalls": _reward_stalls,
    "reward_std_small": _below("reward_std", "reward_std_small"),
    "rollout_kl_high": _rollout_kl_high,
    "sample_size_small": _sample_size_small,
    "turns_at_limit": _turns_at_limit,
}
