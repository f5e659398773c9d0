"""Gradients out of proportion, and losses that are no numbers. Not a policy that drifts away slowly."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import NOTED, Noted, hint_of, training_finding
from agent_evo_dagster.analysis.findings import Json
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity

_NEVER_BROKEN = ("loss", "grad_norm", "kl")


def explosions(run: Run) -> list[Noted]:
    """Values that are no numbers, and gradients that are far too large or rise without end."""
    return [*_broken(run), *_gradients(run)]


def _broken(run: Run) -> list[Noted]:
    broken = [series for name in _NEVER_BROKEN if (series := run.get(name)).broken]
    return [
        Noted(f"{series.name} is not a finite number at step {series.broken[0]}", series, True)
        for series in broken
    ]


def _gradients(run: Run) -> list[Noted]:
    grad, limits = run.get("grad_norm"), run.thresholds.gradient_explosion
    if not grad:
        return []
    highest = max(grad.values)
    if highest > limits.explosion:
        step = grad.steps[grad.values.index(highest)]
        return [Noted(f"gradient norm reaches {number(highest)} at step {step}", grad, True)]
    if grad.end > limits.high and grad.trend.low > 0:
        return [Noted(f"gradient norm rises, to {number(grad.end)}", grad, False)]
    return []


@dataclass(frozen=True, slots=True)
class GradientExplosion:
    """One or more signs that an update was far too large."""

    name: str = "gradient_explosion"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding, with all signs."""
        noted = explosions(run)
        if not noted:
            return []
        limits = run.thresholds.gradient_explosion
        data: dict[str, Json] = {NOTED: [sign.words for sign in noted]}
        data |= {f"{sign.series.name}_broken_steps": list(sign.series.broken[:20]) for sign in noted}
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR if noted[0].grave else Severity.WARNING,
            summary="updates are too large: " + "; ".join(sign.words for sign in noted),
            series=tuple(sign.series for sign in noted),
            confidence=0.95 if noted[0].grave else 0.7,
            data=data,
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, noted[0].words),
        )
        return [finding]
