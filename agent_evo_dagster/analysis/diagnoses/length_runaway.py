"""Completions that grow without end, until limits cut them. Not those that are cut from the start."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run, Series
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


def growth_of(length: Series) -> tuple[float, float]:
    """The change of the length per 10 steps as a share of its start, and the lower bound of it."""
    change, low, _ = length.trend.over(10)
    start = length.start if length.start > 0 else 1.0
    return change / start, low / start


@dataclass(frozen=True, slots=True)
class LengthRunaway:
    """The length rises fast and most of what grows is cut; without a logged share, it rises twice as fast."""

    name: str = "length_runaway"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        length, cut, limits = run.get("length"), run.get("truncated"), run.thresholds.length_runaway
        if len(length.values) < run.thresholds.window.minimum_steps:
            return []
        growth, surely = growth_of(length)
        enough = cut.end > limits.truncated if cut else growth >= 2 * limits.growth
        if growth < limits.growth or surely <= 0 or not enough:
            return []
        share = f"; {number(100 * cut.end)} % of the completions are cut at the end" if cut else ""
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"completions grow by {number(100 * growth)} % per 10 steps, from {number(length.start)} "
            f"to {number(length.end)} tokens{share}",
            series=(length, *([cut] if cut else [])),
            confidence=0.8 if cut else 0.5,
            data={
                "growth_per_10_steps": round(growth, 6),
                "length_start": round(length.start, 3),
                "length_end": round(length.end, 3),
                "cut_end": round(cut.end, 6) if cut else None,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, f"completions grow by {number(100 * growth)} % per 10 steps"),
        )
        return [finding]
