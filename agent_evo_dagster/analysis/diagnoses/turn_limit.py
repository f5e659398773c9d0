"""Rollouts that used up their turns: the policy does not stop, or had no turn left to answer."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


@dataclass(frozen=True, slots=True)
class TurnLimit:
    """Too large a share of the rollouts ended because no turn was left."""

    name: str = "turn_limit"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        share, limits = run.rollouts.share("tool_limit"), run.thresholds.turn_limit
        if share < limits.share:
            return []
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"{number(100 * share)} % of the rollouts ended because their turns were used up",
            series=(run.get("reward"),),
            confidence=0.5,
            data={"share": round(share, 6), "rollouts": run.rollouts.rollouts},
            hint=hint_of(limits.move, run, f"{number(100 * share)} % of the rollouts had no turn left"),
        )
        return [finding]
