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
        interval = f"[{signed(self.low)}, {signed(self.high)}]"
        span = f"{fixed(self.reward.start)} to {fixed(self.reward.end)} over {len(self.reward.steps)} steps"
        moved = f"reward moves by {signed(self.rise)} per {_RATE} steps {interval}"
        return f"{moved} ({span}), headroom {fixed(self.headroom)}"


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
