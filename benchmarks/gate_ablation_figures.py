"""The figures of the gate's ablation: a table, a drawing, one line of JSON. Nothing is run."""

import json
from collections.abc import Sequence
from typing import Any

from agent_evo_dagster.analysis.text import fixed, signed
from agent_evo_dagster.analysis.views.page import Plot
from agent_evo_dagster.evaluation.intervals import Interval, crossed_bootstrap, paired_bootstrap
from benchmarks.drawing import Line, accuracy_by_round
from benchmarks.gate_ablation_rounds import ARMS, ArmName, Step, Trial


def of_arm(trials: Sequence[Trial], arm: ArmName) -> list[Trial]:
    """The trials of one arm, by seed."""
    return sorted((trial for trial in trials if trial.arm == arm), key=lambda trial: trial.seed)


def accuracy(trials: Sequence[Trial], arm: ArmName, stage: int) -> Interval:
    """Held-out accuracy at a stage (0: the start), over seeds and tasks."""
    return crossed_bootstrap([trial.accuracy[stage] for trial in of_arm(trials, arm)])


def advantage(trials: Sequence[Trial], stage: int = -1) -> Interval:
    """Accuracy with the gate minus that without, paired over seeds and tasks."""
    pairs = zip(of_arm(trials, "gate on"), of_arm(trials, "gate off"), strict=True)
    return crossed_bootstrap(
        [
            [
                with_gate - without
                for with_gate, without in zip(on.accuracy[stage], off.accuracy[stage], strict=True)
            ]
            for on, off in pairs
        ]
    )


def lost(trial: Trial) -> list[int]:
    """The rounds after which the policy is surely worse than it was at the start."""
    start = trial.accuracy[0]
    later = enumerate(trial.accuracy[1:], start=1)
    return [number for number, stage in later if paired_bootstrap(start, stage).high < 0]


def adopted(trials: Sequence[Trial], arm: ArmName) -> dict[str, str]:
    """How many edits of each kind were adopted: `4 of 5`."""
    steps = [step for trial in of_arm(trials, arm) for step in trial.steps]
    kinds: dict[str, list[Step]] = {"helpful": [], "useless": [], "harmful": []}
    for step in steps:
        kinds[step.kind].append(step)
    return {kind: f"{sum(_in(step) for step in some)} of {len(some)}" for kind, some in kinds.items()}


def met(trials: Sequence[Trial]) -> bool:
    """Whether the gate ends above no gate beyond the interval, and never below its own start."""
    return advantage(trials).low > 0 and not any(lost(trial) for trial in of_arm(trials, "gate on"))


def table(trials: Sequence[Trial]) -> str:
    """Every arm and seed with its edits, then the means; plain text."""
    lines = [f"held-out accuracy on {len(trials[0].tasks)} tasks; + adopted, - not adopted; 95 % intervals"]
    for trial in trials:
        stages = " ".join(fixed(_mean(stage), 3) for stage in trial.accuracy)
        lines.append(f"{trial.arm:9} seed {trial.seed}: {stages}")
        lines += [f"    {number}. {_step(step)}" for number, step in enumerate(trial.steps, start=1)]
    for arm in ARMS:
        stages = " ".join(_shown(accuracy(trials, arm, stage)) for stage in range(len(trials[0].accuracy)))
        kinds = ", ".join(f"{kind} {count}" for kind, count in adopted(trials, arm).items())
        lines.append(f"{arm:9} over seeds: {stages}; adopted: {kinds}")
    lines.append(f"gate on minus gate off after the last round: {_difference(advantage(trials))}")
    return "\n".join(lines)


def _step(step: Step) -> str:
    told = "" if step.difference is None else f" ({_difference(Interval(*step.difference, 0))} reward)"
    return f"{'+' if _in(step) else '-'} {step.kind} {step.edit}: {step.verdict}{told}"


def json_line(trials: Sequence[Trial]) -> str:
    """All figures; equal trials give equal bytes."""
    stages = range(len(trials[0].accuracy))
    return json.dumps(
        {
            "benchmark": "gate_ablation",
            "plan": trials[0].plan.model_dump(),
            "arms": {arm: _arm(trials, arm, stages) for arm in ARMS},
            "advantage": _rounded(advantage(trials)),
            "met": met(trials),
        },
        sort_keys=True,
    )


def _arm(trials: Sequence[Trial], arm: ArmName, stages: range) -> dict[str, Any]:
    own = of_arm(trials, arm)
    return {
        "accuracy": [_rounded(accuracy(trials, arm, stage)) for stage in stages],
        "adopted": adopted(trials, arm),
        "below_start": {str(trial.seed): lost(trial) for trial in own},
        "gate_steps": sum(step.gate_steps for trial in own for step in trial.steps),
        "train_steps": sum(step.train_steps for trial in own for step in trial.steps),
        "seeds": {
            str(trial.seed): {
                "accuracy": [round(_mean(stage), 4) for stage in trial.accuracy],
                "edits": [_step(step) for step in trial.steps],
                "checkpoint": trial.steps[-1].checkpoint[:16],
            }
            for trial in own
        },
    }


def drawn(trials: Sequence[Trial]) -> Plot:
    """Accuracy by round with the gate and without it."""
    stages = range(len(trials[0].accuracy))
    lines = [
        Line(
            arm,
            [accuracy(trials, arm, stage) for stage in stages],
            [[_mean(stage) for stage in trial.accuracy] for trial in of_arm(trials, arm)],
        )
        for arm in ARMS
    ]
    return accuracy_by_round("gate_ablation", "Held-out accuracy with the gate and without it", lines)


def _in(step: Step) -> bool:
    return step.decision == "approve"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _shown(interval: Interval) -> str:
    return f"{fixed(interval.mean, 3)} [{fixed(interval.low, 3)}, {fixed(interval.high, 3)}]"


def _difference(interval: Interval) -> str:
    return f"{signed(interval.mean, 3)} [{signed(interval.low, 3)}, {signed(interval.high, 3)}]"


def _rounded(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.mean, interval.low, interval.high)]
