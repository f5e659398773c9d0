"""A policy that runs away from where it started: KL that rises without end. Not gradients."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import Noted, hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


def drift(run: Run) -> Noted | None:
    """A KL that is high and rises; the words say whether clipping rises with it."""
    kl, clipped, limits = run.get("kl"), run.get("clip_fraction"), run.thresholds.kl_divergence
    if len(kl.values) < run.thresholds.window.minimum_steps or kl.end <= limits.high or kl.trend.low <= 0:
        return None
    rises = len(clipped.values) >= run.thresholds.window.minimum_steps and clipped.trend.low > 0
    beside = ", and the clip fraction with it" if rises else ""
    return Noted(f"KL rises, to {number(kl.end)}{beside}", kl, kl.end > limits.grave)


@dataclass(frozen=True, slots=True)
class KlDivergence:
    """A KL above its healthy range whose trend is up."""

    name: str = "kl_divergence"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        noted, limits, clipped = drift(run), run.thresholds.kl_divergence, run.get("clip_fraction")
        if noted is None:
            return []
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR if noted.grave else Severity.WARNING,
            summary=f"updates are too large: {noted.words}",
            series=(noted.series, *([clipped] if clipped else [])),
            confidence=0.9 if noted.grave else 0.7,
            data={
                "kl_start": round(noted.series.start, 6),
                "kl_end": round(noted.series.end, 6),
                "clip_fraction_end": round(clipped.end, 6) if clipped else None,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, noted.words),
        )
        return [finding]
