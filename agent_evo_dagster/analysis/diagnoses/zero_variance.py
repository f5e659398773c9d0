"""Groups whose rollouts all got one reward: they teach nothing, for GRPO compares within a group."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed, number
from agent_evo_dagster.analysis.types import Finding, SettingHint, Severity


def equal_share(run: Run) -> float:
    """The share of groups without variance, in the later half of the run; 0 where nothing was logged."""
    return run.get("zero_variance").later_half().mean or 0.0


@dataclass(frozen=True, slots=True)
class ZeroVariance:
    """Too large a share of the groups is all right or all wrong."""

    name: str = "zero_variance_groups"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding; without a hint where the groups are alike because the problems are solved."""
        share, groups, reward = equal_share(run), run.get("zero_variance"), run.get("reward")
        limits = run.thresholds.zero_variance
        if share < limits.share:
            return []
        mean = reward.later_half().mean
        solved = mean is not None and mean >= limits.solved_reward * run.thresholds.learning.reward_maximum
        why = "solved: harder problems would teach more" if solved else "hardly any group teaches"
        finding = training_finding(
            self.name,
            run,
            severity=Severity.INFO if solved else Severity.WARNING,
            summary=f"{number(100 * share)} % of the groups have one reward for all rollouts "
            f"(mean reward {fixed(mean)}): {why}",
            series=(groups, reward),
            confidence=0.8,
            data={
                "share": round(share, 6),
                "reward": None if mean is None else round(mean, 6),
                "solved": solved,
            },
            look_at=limits.look_at,
            hint=None if solved else self._hint(run, share),
        )
        return [finding]

    def _hint(self, run: Run, share: float) -> SettingHint | None:
        limits, entropy = run.thresholds.zero_variance, run.get("entropy").later_half().mean
        if entropy is not None and entropy < limits.entropy_low:
            return hint_of(limits.move_when_greedy, run, f"groups are alike and entropy is {fixed(entropy)}")
        why = f"{number(100 * share)} % of the groups are alike; larger groups differ more often"
        return hint_of(limits.move, run, why)
