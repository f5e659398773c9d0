"""Rollouts that do not stop: turns used up, or responses aborted. Not rollouts that a token limit cut."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


def at_limit(run: Run) -> bool:
    """Whether the mean of the turns is at the limit that the settings name."""
    turns, limit = run.get("turns"), run.setting("max_turns")
    return bool(turns) and limit is not None and turns.end >= run.thresholds.turn_limit.at_limit * limit


@dataclass(frozen=True, slots=True)
class TurnLimit:
    """Too many rollouts had no turn left; or turns at the limit, aborted responses, and a low reward."""

    name: str = "turn_limit"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        limits, aborted = run.thresholds.turn_limit, run.get("aborted")
        share, words = run.rollouts.share("tool_limit"), _aborted(run)
        if share >= limits.share:
            words = f"{number(100 * share)} % of the rollouts ended because their turns were used up"
        if words is None:
            return []
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=words,
            series=(run.get("reward"), *([aborted] if aborted else [])),
            confidence=0.5,
            data={
                "share": round(share, 6),
                "rollouts": run.rollouts.rollouts,
                "aborted_end": round(aborted.end, 6) if aborted else None,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, words),
        )
        return [finding]


def _aborted(run: Run) -> str | None:
    """That responses are aborted at a low reward; with the turns, where those are at their limit."""
    aborted, reward, limits = run.get("aborted"), run.get("reward"), run.thresholds.turn_limit
    if not aborted or aborted.end <= limits.aborted:
        return None
    if reward and reward.end >= limits.low_reward * run.thresholds.learning.reward_maximum:
        return None
    turns = "; the turns are at their limit" if at_limit(run) else ""
    return f"{number(100 * aborted.end)} % of the responses are aborted at the end{turns}"
