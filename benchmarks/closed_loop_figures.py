"""The figures of the closed loop over seeds, and what is asked of them. No reading, no printing.

The interval of one seed is over tasks, paired. Over seeds, both are resampled: the rounds score all seeds on
the same tasks. Of fresh scores, where each seed has tasks of its own, the seed is the unit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from agent_evo_dagster.analysis.views.page import Plot
from agent_evo_dagster.evaluation.intervals import (
    Interval,
    crossed_bootstrap,
    mean_interval,
    paired_bootstrap,
)
from benchmarks.closed_loop_trials import Judged, Trial
from benchmarks.drawing import Line, accuracy_by_round

SHARE = 0.8  # of the seeds: at least 4 of 5
Mode = Literal["sampled", "greedy"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing that is asked of the loop, and what was found."""

    name: str
    asked: str
    found: str
    met: bool


def accuracy(trials: Sequence[Trial], stage: int, mode: Mode = "sampled") -> Interval:
    """Held-out accuracy at a stage (0: the start, n: after round n), over seeds and tasks."""
    return crossed_bootstrap([scores(trial, mode)[stage] for trial in trials])


def change(trial: Trial, first: int, last: int = -1, mode: Mode = "sampled") -> Interval:
    """Accuracy at the stage `last` minus that at `first`, paired over tasks."""
    return paired_bootstrap(scores(trial, mode)[first], scores(trial, mode)[last])


def change_over_seeds(
    trials: Sequence[Trial], first: int, last: int = -1, mode: Mode = "sampled"
) -> Interval:
    """The same, over seeds and tasks."""
    pairs = [(scores(trial, mode)[first], scores(trial, mode)[last]) for trial in trials]
    return crossed_bootstrap([_minus(old, new) for old, new in pairs])


def advantage(trials: Sequence[Trial], others: Sequence[Trial], stage: int = -1) -> Interval:
    """Sampled accuracy of `trials` minus that of `others`, paired over tasks for each seed that both have."""
    pairs = [(trial, other) for trial in trials for other in others if trial.seed == other.seed]
    return crossed_bootstrap([_minus(other.sampled[stage], trial.sampled[stage]) for trial, other in pairs])


def fresh_change(trial: Trial) -> Interval:
    """Accuracy after the last round minus that after round 1, on tasks that only this seed is scored on."""
    return paired_bootstrap(*trial.fresh)


def fresh_change_over_seeds(trials: Sequence[Trial]) -> Interval:
    """The same, over seeds."""
    return mean_interval([fresh_change(trial).mean for trial in trials])


def fresh_advantage(trials: Sequence[Trial], others: Sequence[Trial]) -> Interval:
    """Accuracy of `trials` minus that of `others` after the last round, on each seed's own tasks."""
    pairs = [(trial, other) for trial in trials for other in others if trial.seed == other.seed]
    return mean_interval([paired_bootstrap(other.fresh[-1], trial.fresh[-1]).mean for trial, other in pairs])


def scores(trial: Trial, mode: Mode) -> tuple[tuple[float, ...], ...]:
    """Accuracy of each task by stage."""
    return trial.sampled if mode == "sampled" else trial.greedy


def adopted(trial: Trial) -> list[Judged]:
    """The patches that were approved, and that the next round trained with."""
    later = [patch for patch in trial.patches if patch.round < len(trial.settings)]
    return [patch for patch in later if patch.decision == "approve" and _trained_with(trial, patch)]


def drawn(trials: Sequence[Trial]) -> Plot:
    """Sampled accuracy by round, of each arm."""
    lines = []
    for arm in dict.fromkeys(trial.arm for trial in trials):
        own = of_arm(trials, arm)
        means = [[fmean(stage) for stage in trial.sampled] for trial in own]
        lines.append(Line(arm, [accuracy(own, stage) for stage in range(len(own[0].sampled))], means))
    return accuracy_by_round("closed_loop", "Held-out accuracy in the closed loop", lines)


def goals(trials: Sequence[Trial]) -> list[Goal]:
    """What is asked of the arms that were run."""
    gated, frozen, zero = (of_arm(trials, arm) for arm in ("gated", "frozen", "zero"))
    found = [_rises(gated), _rises_afresh(gated), _adopts(gated)] if gated else []
    found += [_stays(zero)] if zero else []
    return found + ([_same_start(gated, frozen)] if gated and frozen else [])


def of_arm(trials: Sequence[Trial], arm: str) -> list[Trial]:
    """The trials of one arm, in order of seeds."""
    return sorted((trial for trial in trials if trial.arm == arm), key=lambda trial: trial.seed)


def _rises(gated: Sequence[Trial]) -> Goal:
    risen, needed = sum(change(trial, 1).low > 0 for trial in gated), math.ceil(SHARE * len(gated))
    return Goal(
        "accuracy_rises",
        f"accuracy rises from round 1 to the last beyond its interval, in {needed} of {len(gated)} seeds",
        f"{risen} of {len(gated)}",
        risen >= needed,
    )


def _rises_afresh(gated: Sequence[Trial]) -> Goal:
    risen, needed = sum(fresh_change(trial).low > 0 for trial in gated), math.ceil(SHARE * len(gated))
    return Goal(
        "accuracy_rises_on_fresh_tasks",
        f"the same with other tasks and draws for each seed, in {needed} of {len(gated)} seeds",
        f"{risen} of {len(gated)}",
        risen >= needed,
    )


def _adopts(gated: Sequence[Trial]) -> Goal:
    seeds, needed = sum(bool(adopted(trial)) for trial in gated), math.ceil(SHARE * len(gated))
    return Goal(
        "patch_is_trained_with",
        f"the next round trains with an accepted and approved patch, in {needed} of {len(gated)} seeds",
        f"{seeds} of {len(gated)}",
        seeds >= needed,
    )


def _stays(zero: Sequence[Trial]) -> Goal:
    intervals = [change(trial, 0) for trial in zero]
    still = sum(one.low <= 0 <= one.high for one in intervals)
    changed = sum(trial.weights_changed for trial in zero)
    return Goal(
        "control_stays",
        "with a learning rate of 0: no weight changes, and each seed's interval from the start holds 0",
        f"{changed} of {sum(trial.weights for trial in zero)} weights changed; {still} of {len(zero)} hold 0",
        changed == 0 and still == len(zero),
    )


def _same_start(gated: Sequence[Trial], frozen: Sequence[Trial]) -> Goal:
    """Before the first patch can act, the two arms are one run."""
    pairs = [(one, other) for one in gated for other in frozen if one.seed == other.seed]
    same = sum(one.checkpoints[1] == other.checkpoints[1] for one, other in pairs)
    return Goal(
        "arms_share_round_1",
        "gated and frozen have the same checkpoint after round 1, bit for bit",
        f"{same} of {len(pairs)}",
        same == len(pairs),
    )


def _trained_with(trial: Trial, patch: Judged) -> bool:
    following = trial.settings[patch.round]  # rounds count from 1: this is the next one
    return all(following[name] == new for name, (_, new) in patch.settings.items())


def _minus(before: Sequence[float], after: Sequence[float]) -> list[float]:
    return [new - old for old, new in zip(before, after, strict=True)]
