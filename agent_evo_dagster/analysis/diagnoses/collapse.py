"""A reward that has fallen from its peak: learning was undone. A reward that never rose is not its matter."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.diagnoses.rise import ends_words
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.trends import smoothed, step_noise
from agent_evo_dagster.analysis.types import Finding, Severity


@dataclass(frozen=True, slots=True)
class Fall:
    """How far the smoothed reward fell, from where to where, and how much a single step wavers."""

    peak: float
    peak_step: int
    end: float
    noise: float

    @property
    def size(self) -> float:
        """The peak less the end."""
        return self.peak - self.end


def fall_of(run: Run) -> Fall | None:
    """The fall of the run's reward, where it is larger than the threshold and than noise."""
    reward, limits = run.get("reward"), run.thresholds.collapse
    if len(reward.values) < run.thresholds.window.minimum_steps:
        return None
    curve = smoothed(reward.values, limits.smooth_steps)
    at = max(range(len(curve)), key=curve.__getitem__)
    step = reward.steps[min(at + limits.smooth_steps // 2, len(reward.steps) - 1)]
    fall = Fall(curve[at], step, curve[-1], step_noise(reward.values))
    return fall if fall.size >= max(limits.fall, limits.noise_multiple * fall.noise) else None


@dataclass(frozen=True, slots=True)
class Collapse:
    """The mean of the last steps lies well below the best mean of as many steps."""

    name: str = "collapse"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        fall, reward, kl = fall_of(run), run.get("reward"), run.get("kl")
        if fall is None:
            return []
        limits = run.thresholds.collapse
        summary = (
            f"reward fell from {fixed(fall.peak)} around step {fall.peak_step} to {fixed(fall.end)} at the "
            f"end (means of {limits.smooth_steps} steps; noise of a step {fixed(fall.noise)}); "
            f"{ends_words(reward)}"
        )
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR,
            summary=summary,
            series=(reward, *([kl] if kl else [])),
            confidence=0.9 if fall.size >= 2 * limits.fall else 0.7,
            data={
                "peak": round(fall.peak, 6),
                "peak_step": fall.peak_step,
                "end": round(fall.end, 6),
                "start": round(reward.start, 6),
                "noise": round(fall.noise, 6),
                "kl_end": round(kl.end, 6) if kl else None,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, f"the reward fell by {fixed(fall.size)} from its peak"),
        )
        return [finding]
