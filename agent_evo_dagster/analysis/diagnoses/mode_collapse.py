"""A policy that has stopped exploring: its samples hardly differ, and its reward does not rise any more."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.diagnoses.rise import rise_of
from agent_evo_dagster.analysis.diagnoses.zero_variance import equal_share
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.analysis.types import Finding, Severity


def exhausted(run: Run) -> bool:
    """Whether entropy is low at the end and groups are alike.

    Low entropy alone is no sign: a policy that has learnt a terse format has little of it, and groups that
    differ still teach. Where nothing tells how alike groups are, entropy decides.
    """
    entropy, limits = run.get("entropy"), run.thresholds.mode_collapse
    alike = not run.get("zero_variance") or equal_share(run) >= limits.alike
    return bool(entropy) and entropy.end < limits.entropy_low and alike


def narrowed(run: Run) -> bool:
    """Whether completions have one length at the end and hardly a ratio is clipped; False if not logged."""
    limits, clipped = run.thresholds.mode_collapse, run.get("clip_fraction")
    length, highest, lowest = (run.get(name) for name in ("length", "length_highest", "length_lowest"))
    if not (length and highest and lowest and clipped) or length.end <= 0:
        return False
    spread = (highest.end - lowest.end) / length.end
    return spread < limits.length_spread and clipped.end < limits.clip_fraction


@dataclass(frozen=True, slots=True)
class ModeCollapse:
    """Exhausted exploration in a run whose reward stalls below its maximum."""

    name: str = "mode_collapse"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        entropy, limits, rise = run.get("entropy"), run.thresholds.mode_collapse, rise_of(run)
        if rise is None or rise.learnt or not exhausted(run):
            return []
        narrow = narrowed(run)
        finding = training_finding(
            self.name,
            run,
            severity=Severity.WARNING,
            summary=f"entropy is {fixed(entropy.end, 3)} at the end (it began at {fixed(entropy.start, 3)}), "
            f"and {rise.words()}",
            series=(entropy, rise.reward),
            confidence=0.85 if narrow else 0.7,
            data={
                "entropy_start": round(entropy.start, 6),
                "entropy_end": round(entropy.end, 6),
                "headroom": round(rise.headroom, 6),
                "narrow": narrow,
            },
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, f"entropy is {fixed(entropy.end, 3)}: samples hardly differ"),
        )
        return [finding]
