"""Shares of clipped ratios that are too high, or so low that the policy stands still. Not their cause."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import Noted, hint_of, training_finding
from agent_evo_dagster.analysis.diagnoses.rise import rise_of
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import Finding, Severity


def clipping(run: Run) -> Noted | None:
    """A clip fraction at the end that is too high; grave where KL is high as well."""
    clipped, kl = run.get("clip_fraction"), run.get("kl")
    if not clipped or clipped.end <= run.thresholds.clip_fraction_high.share:
        return None
    far = bool(kl) and kl.end > run.thresholds.kl_divergence.high
    beside = f" while KL is {number(kl.end)}" if far else ""
    return Noted(f"{number(100 * clipped.end)} % of the ratios are clipped{beside}", clipped, far)


@dataclass(frozen=True, slots=True)
class ClipFractionHigh:
    """Too many of the ratios are clipped at the end of the run."""

    name: str = "clip_fraction_high"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        noted, limits, kl = clipping(run), run.thresholds.clip_fraction_high, run.get("kl")
        if noted is None:
            return []
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"updates are too large: {noted.words}",
            series=(noted.series, *([kl] if kl else [])),
            confidence=0.8 if noted.grave else 0.6,
            data={
                "clip_fraction_end": round(noted.series.end, 6),
                "kl_end": round(kl.end, 6) if kl else None,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, noted.words),
        )
        return [finding]


@dataclass(frozen=True, slots=True)
class ClipFractionLow:
    """Hardly a ratio is clipped, KL is as good as 0, and the reward is flat: the policy stands still."""

    name: str = "clip_fraction_low"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding; none where the reward rises, or where KL was not logged."""
        clipped, kl, limits = run.get("clip_fraction"), run.get("kl"), run.thresholds.clip_fraction_low
        rise = rise_of(run)
        flat = rise is not None and not rise.learnt and abs(rise.rise) < run.thresholds.learning.flat_rise
        if not (clipped and kl and rise and flat) or run.setting("learning_rate") == 0:
            return []
        share, moved = clipped.later_half().mean or 0.0, kl.later_half().mean or 0.0
        if share >= limits.share or abs(moved) >= limits.kl_still:
            return []
        words = f"only {number(100 * share)} % of the ratios are clipped and KL is {number(moved)}"
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"the model stands still: {words}; {rise.words()}",
            series=(clipped, kl, rise.reward),
            confidence=0.55,
            data={"clip_fraction": round(share, 6), "kl": round(moved, 6), "rise_per_10_steps": rise.rise},
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, rise.words()),
        )
        return [finding]
