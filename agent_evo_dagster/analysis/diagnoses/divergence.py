"""Updates out of proportion: a loss that is no number, exploding gradients, a KL that runs away."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.findings import Json
from agent_evo_dagster.analysis.series import Run, Series
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity

_NEVER_BROKEN = ("loss", "grad_norm", "kl")


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of divergence, in words, with the metric that shows it."""

    words: str
    series: Series
    grave: bool


def signs_of(run: Run) -> list[Sign]:
    """All signs of divergence in the run, the grave ones first."""
    signs = [*_broken(run), *_gradients(run), *_far_from_start(run)]
    return sorted(signs, key=lambda sign: not sign.grave)


def _broken(run: Run) -> list[Sign]:
    broken = [series for name in _NEVER_BROKEN if (series := run.get(name)).broken]
    return [
        Sign(f"{series.name} is not a finite number at step {series.broken[0]}", series, True)
        for series in broken
    ]


def _gradients(run: Run) -> list[Sign]:
    grad, limits = run.get("grad_norm"), run.thresholds.divergence
    if not grad:
        return []
    highest = max(grad.values)
    if highest > limits.grad_norm_explosion:
        step = grad.steps[grad.values.index(highest)]
        return [Sign(f"gradient norm reaches {number(highest)} at step {step}", grad, True)]
    if grad.end > limits.grad_norm_high and grad.trend.low > 0:
        return [Sign(f"gradient norm rises, to {number(grad.end)}", grad, False)]
    return []


def _far_from_start(run: Run) -> list[Sign]:
    limits, signs = run.thresholds.divergence, []
    kl, clipped = run.get("kl"), run.get("clip_fraction")
    if kl and kl.end > limits.kl_high and kl.trend.low > 0:
        signs.append(Sign(f"KL rises, to {number(kl.end)}", kl, kl.end > 10 * limits.kl_high))
    if clipped and clipped.end > limits.clip_fraction_high:
        signs.append(Sign(f"{number(100 * clipped.end)} % of the ratios are clipped", clipped, False))
    return signs


@dataclass(frozen=True, slots=True)
class Divergence:
    """One or more signs that the updates are too large."""

    name: str = "divergence"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding, with all signs."""
        signs = signs_of(run)
        if not signs:
            return []
        data: dict[str, Json] = {"signs": [sign.words for sign in signs]}
        data |= {f"{sign.series.name}_broken_steps": list(sign.series.broken[:20]) for sign in signs}
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR if signs[0].grave else Severity.WARNING,
            summary="updates are too large: " + "; ".join(sign.words for sign in signs),
            series=tuple(sign.series for sign in signs),
            confidence=0.95 if signs[0].grave else 0.7,
            data=data,
            hint=hint_of(run.thresholds.divergence.move, run, signs[0].words),
        )
        return [finding]
