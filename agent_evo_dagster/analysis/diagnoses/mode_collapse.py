"""A policy that has stopped exploring: its entropy is near zero while there is reward left to find."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.types import Finding, Severity


@dataclass(frozen=True, slots=True)
class ModeCollapse:
    """Entropy below the threshold at the end of a run whose reward is not near its maximum."""

    name: str = "mode_collapse"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        entropy, reward = run.get("entropy"), run.get("reward")
        learning, limits = run.thresholds.learning, run.thresholds.mode_collapse
        if not entropy or not reward or entropy.end >= limits.entropy_low:
            return []
        headroom = learning.reward_maximum - reward.end
        if headroom < learning.enough_headroom:
            return []
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"entropy is {fixed(entropy.end, 3)} at the end (it began at {fixed(entropy.start, 3)}), "
            f"with a headroom of {fixed(headroom)} in the reward",
            series=(entropy, reward),
            confidence=0.7,
            data={
                "entropy_start": round(entropy.start, 6),
                "entropy_end": round(entropy.end, 6),
                "headroom": round(headroom, 6),
            },
            hint=hint_of(limits.move, run, f"entropy is {fixed(entropy.end, 3)}: samples hardly differ"),
        )
        return [finding]
