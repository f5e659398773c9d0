"""The figures of the closed loop as a table and as one JSON line. Nothing is decided here."""

import json
from collections.abc import Sequence
from typing import Any

from agent_evo_dagster.evaluation.intervals import Interval
from benchmarks.closed_loop_figures import (
    accuracy,
    adopted,
    advantage,
    change,
    change_over_seeds,
    fresh_advantage,
    fresh_change,
    fresh_change_over_seeds,
    goals,
    of_arm,
)
from benchmarks.closed_loop_trials import Judged, Trial


def table(trials: Sequence[Trial]) -> str:
    """Every arm and seed in a line, then their patches, the means over seeds, and the goals; plain text."""
    arms = list(dict.fromkeys(trial.arm for trial in trials))
    parts = [_trial_lines(trials), _patch_lines(trials), _mean_lines(trials, arms), _goal_lines(trials)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def json_line(trials: Sequence[Trial], code: str) -> str:
    """All figures in one line; equal trials give equal bytes."""
    asked, first = goals(trials), trials[0]
    figures = {
        "benchmark": "closed_loop",
        "code": code,
        "rounds": len(first.settings),
        "tasks": len(first.tasks),
        "arms": {arm: _arm(of_arm(trials, arm)) for arm in dict.fromkeys(trial.arm for trial in trials)},
        "advantage_of_gated": _advantages(trials),
        "goals": {goal.name: {"met": goal.met, "found": goal.found} for goal in asked},
        "passed": all(goal.met for goal in asked),
    }
    return json.dumps(figures, sort_keys=True)


def _trial_lines(trials: Sequence[Trial]) -> list[str]:
    rounds = len(trials[0].settings)
    heads = "".join(f"{name:>7}" for name in ("start", *(f"r{number}" for number in range(1, rounds + 1))))
    last = f"to r{rounds}"
    differences = "".join(f"{name:24}" for name in (f"r1 {last}", f"start {last}", f"fresh, r1 {last}"))
    lines = [
        f"sampled accuracy on {len(trials[0].tasks)} held-out tasks; 95 % intervals over tasks",
        f"{'arm':7}{'seed':>5}{heads}  {differences}greedy",
    ]
    for trial in trials:
        means = "".join(f"{_mean(stage):7.3f}" for stage in trial.sampled)
        differences = (
            f"{_shown(change(trial, 1)):24}{_shown(change(trial, 0)):24}{_shown(fresh_change(trial)):24}"
        )
        lines.append(f"{trial.arm:7}{trial.seed:5}{means}  {differences}{_mean(trial.greedy[-1]):.3f}")
    return lines


def _patch_lines(trials: Sequence[Trial]) -> list[str]:
    lines = [f"{'arm':7}{'seed':>5}{'round':>7}  patch, gate's difference of reward, verdict, decision"]
    for trial in trials:
        for patch in trial.patches:
            moves = ", ".join(f"{name} {old:g} -> {new:g}" for name, (old, new) in patch.settings.items())
            measured = "not measured" if patch.difference is None else _shown(_interval_of(patch))
            lines.append(
                f"{trial.arm:7}{trial.seed:5}{patch.round:7}  {moves or patch.patch_id}: {measured}, "
                f"{patch.verdict}, {patch.decision}"
            )
    return lines if len(lines) > 1 else []


def _mean_lines(trials: Sequence[Trial], arms: Sequence[str]) -> list[str]:
    lines = ["over seeds and tasks, 95 % interval; fresh: each seed on tasks of its own"]
    for arm in arms:
        own = of_arm(trials, arm)
        stages = ", ".join(_shown(accuracy(own, stage), sign="") for stage in range(len(own[0].sampled)))
        lines.append(f"{arm:7} accuracy {stages}; r1 to last {_shown(change_over_seeds(own, 1))}")
        lines.append(f"{arm:7} fresh, r1 to last {_shown(fresh_change_over_seeds(own))}")
    for name, (interval, fresh) in _differences(trials).items():
        lines.append(f"gated minus {name} after the last round {_shown(interval)}, fresh {_shown(fresh)}")
    return lines


def _goal_lines(trials: Sequence[Trial]) -> list[str]:
    return [f"{'met   ' if goal.met else 'MISSED'}  {goal.asked}: {goal.found}" for goal in goals(trials)]


def _arm(trials: Sequence[Trial]) -> dict[str, Any]:
    stages = range(len(trials[0].sampled))
    return {
        "accuracy": [_rounded(accuracy(trials, stage)) for stage in stages],
        "greedy_accuracy": [_rounded(accuracy(trials, stage, "greedy")) for stage in stages],
        "round_1_to_last": _rounded(change_over_seeds(trials, 1)),
        "start_to_last": _rounded(change_over_seeds(trials, 0)),
        "fresh_round_1_to_last": _rounded(fresh_change_over_seeds(trials)),
        "seeds": {str(trial.seed): _seed(trial) for trial in trials},
    }


def _seed(trial: Trial) -> dict[str, Any]:
    return {
        "accuracy": [round(_mean(stage), 4) for stage in trial.sampled],
        "greedy_accuracy": [round(_mean(stage), 4) for stage in trial.greedy],
        "round_1_to_last": _rounded(change(trial, 1)),
        "start_to_last": _rounded(change(trial, 0)),
        "fresh_accuracy": [round(_mean(stage), 4) for stage in trial.fresh],
        "fresh_round_1_to_last": _rounded(fresh_change(trial)),
        "learning_rates": [settings["learning_rate"] for settings in trial.settings],
        "patches": [_patch(patch, patch in adopted(trial)) for patch in trial.patches],
        "weights_changed": trial.weights_changed,
        "checkpoint": trial.checkpoints[-1][:16],
    }


def _patch(patch: Judged, trained_with: bool) -> dict[str, Any]:
    return {
        "round": patch.round,
        "settings": {name: list(move) for name, move in patch.settings.items()},
        "difference": None if patch.difference is None else _rounded(_interval_of(patch)),
        "verdict": patch.verdict,
        "decision": patch.decision,
        "trained_with": trained_with,
    }


def _differences(trials: Sequence[Trial]) -> dict[str, tuple[Interval, Interval]]:
    """By arm: what gated has above it after the last round, and the same on fresh tasks."""
    gated = of_arm(trials, "gated")
    others = {trial.arm for trial in trials} - {"gated"}
    pairs = {arm: (gated, of_arm(trials, arm)) for arm in sorted(others) if gated}
    return {arm: (advantage(*pair), fresh_advantage(*pair)) for arm, pair in pairs.items()}


def _advantages(trials: Sequence[Trial]) -> dict[str, dict[str, list[float]]]:
    return {
        arm: {"rounds": _rounded(interval), "fresh": _rounded(fresh)}
        for arm, (interval, fresh) in _differences(trials).items()
    }


def _interval_of(patch: Judged) -> Interval:
    assert patch.difference is not None
    assert patch.low is not None
    assert patch.high is not None
    return Interval(patch.difference, patch.low, patch.high, 0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rounded(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.mean, interval.low, interval.high)]


def _shown(interval: Interval, sign: str = "+") -> str:
    low, high = (format(value, f"{sign}.3f") for value in (interval.low, interval.high))
    return f"{format(interval.mean, f'{sign}.3f')} [{low}, {high}]"
