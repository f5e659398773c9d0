"""Rollouts that a token limit cut: their reward says nothing of what the policy would have answered."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


@dataclass(frozen=True, slots=True)
class Truncation:
    """Too large a share of the rollouts ended at a limit of tokens."""

    name: str = "truncation"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding; the hint names the limit that did it: the rollout's, or the turn's."""
        clipped, limits = run.get("truncated"), run.thresholds.truncation
        logged = clipped.later_half().mean
        share = run.rollouts.share("length") if run.rollouts.rollouts else logged
        if share is None or share < limits.share:
            return []
        whole = self._rollout_limit(run)
        move = limits.move_rollout if whole >= 0.5 else limits.move
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR if share >= limits.grave_share else Severity.WARNING,
            summary=f"{number(100 * share)} % of the rollouts were cut at a token limit; "
            f"{number(100 * whole)} % of those at max_completion_length",
            series=(clipped, run.get("length")),
            confidence=0.7,
            data={
                "share": round(share, 6),
                "logged_share": None if logged is None else round(logged, 6),
                "at_rollout_limit": round(whole, 6),
                "rollouts": run.rollouts.rollouts,
            },
            look_at=limits.look_at,
            hint=hint_of(move, run, f"{number(100 * share)} % of the rollouts were cut"),
        )
        return [finding]

    def _rollout_limit(self, run: Run) -> float:
        limit, lengths = run.setting("max_completion_length"), run.rollouts.cut_lengths
        if limit is None or not lengths:
            return 1.0  # the metric alone does not tell the limits apart: the outer one is the likelier
        at_limit = run.thresholds.truncation.at_limit * limit
        return sum(length >= at_limit for length in lengths) / len(lengths)
