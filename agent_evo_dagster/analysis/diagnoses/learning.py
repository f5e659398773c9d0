"""A reward that does not rise, or rises too slowly for the room it has. A reward that falls is collapse's."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.clip_fraction import clipping
from agent_evo_dagster.analysis.diagnoses.collapse import fall_of
from agent_evo_dagster.analysis.diagnoses.gradient_explosion import explosions
from agent_evo_dagster.analysis.diagnoses.kl_divergence import drift
from agent_evo_dagster.analysis.diagnoses.mode_collapse import exhausted
from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.diagnoses.rise import Rise, ends_words, rise_of
from agent_evo_dagster.analysis.diagnoses.zero_variance import equal_share
from agent_evo_dagster.analysis.findings import Json
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import fixed, number
from agent_evo_dagster.analysis.types import Finding, Severity


@dataclass(frozen=True, slots=True)
class Learning:
    """`no_learning`: hardly any rise. `slow_learning`: one that is too small for the headroom."""

    name: str = "no_learning"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding; a run too short to judge is said to be so."""
        rise, frozen = rise_of(run), run.setting("learning_rate") == 0
        if frozen:
            return [self._frozen(run, rise)]
        if rise is None:
            return [self._too_short(run)]
        if rise.learnt or fall_of(run) is not None:
            return []
        return [self._slow(run, rise)]

    def _frozen(self, run: Run, rise: Rise | None) -> Finding:
        words = "too few steps for a trend" if rise is None else rise.words()
        return training_finding(
            self.name,
            run,
            severity=Severity.ERROR,
            summary=f"the learning rate is zero, so the weights cannot move: {words}",
            series=(run.get("reward"),),
            confidence=1.0,
            data={"learning_rate": 0.0, **_numbers(run, rise)},
            look_at=("learning_rate",),
        )

    def _too_short(self, run: Run) -> Finding:
        needed, reward = run.thresholds.window.minimum_steps, run.get("reward")
        return training_finding(
            "too_few_steps",
            run,
            severity=Severity.INFO,
            summary=f"{len(reward.values)} steps with a reward were logged; a trend needs {needed}",
            series=(reward,),
            confidence=1.0,
            data=_numbers(run, None),
            look_at=("max_steps",),
        )

    def _slow(self, run: Run, rise: Rise) -> Finding:
        obstacle, slow = obstacle_of(run, rise), rise.rise >= run.thresholds.learning.flat_rise
        move, rate = run.thresholds.learning.move, run.setting("learning_rate")
        hint = None if obstacle else hint_of(move, run, rise.words())
        told = f"learning rate {number(rate)}" if rate is not None else "learning rate not known"
        return training_finding(
            "slow_learning" if slow else self.name,
            run,
            severity=Severity.WARNING if slow else Severity.ERROR,
            summary=f"{rise.words()}; {_health(run)}; {told}" + (f"; but {obstacle}" if obstacle else ""),
            series=(rise.reward, *(run.get(name) for name in _HEALTH if run.get(name))),
            confidence=0.9 if rise.high < rise.enough else 0.6,
            data={**_numbers(run, rise), "obstacle": obstacle},
            look_at=run.thresholds.learning.look_at,
            hint=hint,
        )


_HEALTH = ("grad_norm", "entropy", "clip_fraction", "kl")


def obstacle_of(run: Run, rise: Rise) -> str | None:
    """Why a larger step would not help: what stands in the way of learning, in words."""
    limits, grad = run.thresholds, run.get("grad_norm")
    if rise.high < 0:
        return "the reward is falling"
    noted = [*explosions(run), drift(run), clipping(run)]
    if signs := [sign for sign in noted if sign is not None]:
        return min(signs, key=lambda sign: not sign.grave).words
    if grad and (grad.later_half().mean or 0.0) < limits.learning.no_gradient:
        return "there is hardly a gradient"
    if exhausted(run):
        return f"entropy is down to {fixed(run.get('entropy').end, 3)} and groups are alike"
    if (share := equal_share(run)) >= limits.zero_variance.share:
        return f"{number(100 * share)} % of the groups have one reward for all rollouts"
    return None


def _health(run: Run) -> str:
    grad, entropy, clipped = (run.get(name) for name in ("grad_norm", "entropy", "clip_fraction"))
    parts = [f"gradient norm {number(grad.later_half().mean)}"] if grad else []
    if entropy:
        parts.append(f"entropy {ends_words(entropy)}")
    if clipped:
        parts.append(f"clip fraction {number(clipped.later_half().mean)}")
    return ", ".join(parts) or "no gradient norm, entropy or clip fraction logged"


def _numbers(run: Run, rise: Rise | None) -> dict[str, Json]:
    figures: dict[str, float | None] = {name: run.get(name).later_half().mean for name in _HEALTH}
    if rise is not None:
        figures |= {"rise_per_10_steps": rise.rise, "low": rise.low, "high": rise.high}
        figures |= {"start": rise.reward.start, "end": rise.reward.end, "headroom": rise.headroom}
        figures["enough"] = rise.enough
    figures |= {f"held-out accuracy, {key}": share for key, share in run.accuracy.items()}
    return {
        "steps": len(run.get("reward").values),
        "reward_from": run.get("reward").name,
        **{name: None if value is None else round(value, 6) for name, value in figures.items()},
    }
