"""How a run's reward moved, and whether that is learning well. No finding of its own."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.series import Run, Series
from agent_evo_dagster.analysis.text import fixed, signed

_RATE = 10  # steps that rises are told for


@dataclass(frozen=True, slots=True)
class Rise:
    """How the reward moved over a window: the rise per 10 steps with its interval, and the room above it."""

    reward: Series
    rise: float
    low: float
    high: float
    headroom: float
    enough: float  # the rise per 10 steps from which it is learning well
    learnt: bool  # it is learning well, or has little left to learn

    def words(self) -> str:
        """The rise, for people."""
        moved = f"reward moves by {slope_words(self.reward)} ({ends_words(self.reward)})"
        return f"{moved}, headroom {fixed(self.headroom)}"


def slope_words(series: Series) -> str:
    """Its slope over 10 steps with the interval."""
    slope, low, high = series.trend.over(_RATE)
    return f"{signed(slope)} per {_RATE} steps [{signed(low)}, {signed(high)}]"


def ends_words(series: Series) -> str:
    """What it begins and ends with, and the steps that these are the means of."""
    steps, count = series.steps, series.quarter
    first, last = steps[:count], steps[-count:]
    return (
        f"mean {fixed(series.start)} at steps {first[0]}-{first[-1]}, "
        f"{fixed(series.end)} at steps {last[0]}-{last[-1]}"
    )


def rise_of(run: Run) -> Rise | None:
    """The rise of the run's reward; None where too few steps were logged to tell."""
    window, limits = run.thresholds.window, run.thresholds.learning
    reward = run.get("reward").last_steps(window.maximum_steps)
    if len(reward.values) < window.minimum_steps:
        return None
    rise, low, high = reward.trend.over(_RATE)
    enough = min(limits.fast_rise, limits.fast_share * (limits.reward_maximum - reward.start))
    headroom = limits.reward_maximum - reward.end
    learnt = rise >= enough or headroom < limits.enough_headroom
    return Rise(reward, rise, low, high, headroom, enough, learnt)
