"""A training reward that rises while the held-out score falls. Not the gate's measurement."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.diagnoses.rise import ends_words
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.types import Finding, Severity

_FEWEST = 3  # held-out scores: two are no trend


@dataclass(frozen=True, slots=True)
class HeldOutGap:
    """The held-out scores that the run logged fall, from their best or first, while the reward rises."""

    name: str = "held_out_gap"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding; none with fewer than three held-out scores."""
        held, reward, limits = run.get("held_out"), run.get("reward"), run.thresholds.held_out_gap
        enough = len(reward.values) >= run.thresholds.window.minimum_steps
        if len(held.values) < _FEWEST or not enough:
            return []
        best = max(held.values)
        fall, rise = best - held.values[-1], reward.end - reward.start
        if fall < limits.fall or rise < limits.rise:
            return []
        step = held.steps[held.values.index(best)]
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"the training reward rises ({ends_words(reward)}), while the "
            f"held-out score falls from {fixed(best, 3)} at step {step} to {fixed(held.values[-1], 3)}",
            series=(reward, held),
            confidence=0.6,
            data={"rise": round(rise, 6), "fall": round(fall, 6), "best_step": step},
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, f"the held-out score is best at step {step}"),
        )
        return [finding]
