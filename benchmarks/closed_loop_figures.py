"""The figures of the closed loop: accuracy by round, differences with intervals. Runs nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agent_evo_dagster.evaluation.intervals import Interval, mean_interval, paired_bootstrap
from agent_evo_dagster.warehouse import Warehouse

ROUNDS = ("round-0001", "round-0002", "round-0003")


@dataclass(frozen=True, slots=True)
class Trial:
    """Three rounds of one arm with one seed; accuracies are means over the tasks of the report split."""

    arm: str
    seed: int
    start: float  # sampled accuracy before round 1
    sampled: tuple[float, ...]  # sampled accuracy after each round
    greedy: tuple[float, ...]
    rise: Interval  # sampled accuracy after round 3 minus after round 1, paired by task
    gain: Interval  # sampled accuracy after round 3 minus before round 1, paired by task
    learning_rates: tuple[float, ...]  # that each round trained with
    verdicts: tuple[str, ...]  # of the gate, over all rounds


def task_accuracy(evaluation: pl.DataFrame, policy: str, mode: str = "sampled") -> list[float]:
    """Accuracy of each task, in the order of task ids."""
    rows = evaluation.filter((pl.col("policy") == policy) & (pl.col("mode") == mode))
    tasks = rows.group_by("task_id").agg(pl.col("correct").cast(pl.Float64).mean()).sort("task_id")
    return tasks["correct"].to_list()


def read_trial(home: Path, arm: str, seed: int) -> Trial:
    """What three finished rounds stored."""
    warehouse = Warehouse(home / "warehouse")
    scores = [warehouse.read(("policy_evaluation",), key) for key in ROUNDS]
    configs = [warehouse.read(("training_config",), key) for key in ROUNDS]
    verdicts = [warehouse.read(("patch_evaluation",), key)["verdict"].to_list() for key in ROUNDS]
    start, after = task_accuracy(scores[0], "before"), [task_accuracy(one, "after") for one in scores]
    return Trial(
        arm=arm,
        seed=seed,
        start=_mean(start),
        sampled=tuple(map(_mean, after)),
        greedy=tuple(_mean(task_accuracy(one, "after", "greedy")) for one in scores),
        rise=paired_bootstrap(after[0], after[2]),
        gain=paired_bootstrap(start, after[2]),
        learning_rates=tuple(_learning_rate(config) for config in configs),
        verdicts=tuple(verdict for found in verdicts for verdict in found),
    )


def summary(trials: Sequence[Trial]) -> dict[str, Any]:
    """Per arm: every seed, how many rose from round 1 to round 3, and the means over seeds with intervals."""
    arms = dict.fromkeys(trial.arm for trial in trials)
    return {
        "benchmark": "closed_loop",
        "arms": {arm: _arm([t for t in trials if t.arm == arm]) for arm in arms},
    }


def show(trials: Sequence[Trial]) -> str:
    """The trials as a table of plain text."""
    lines = [
        f"{'arm':8}{'seed':>5}{'start':>7}{'r1':>7}{'r2':>7}{'r3':>7}  rise r1 to r3          learning rates"
    ]
    for trial in trials:
        accuracies = "".join(f"{value:7.3f}" for value in (trial.start, *trial.sampled))
        rates = " ".join(f"{rate:g}" for rate in trial.learning_rates)
        lines.append(f"{trial.arm:8}{trial.seed:5}{accuracies}  {_shown(trial.rise):22} {rates}")
    return "\n".join(lines)


def _arm(trials: Sequence[Trial]) -> dict[str, Any]:
    return {
        "seeds": len(trials),
        "rose_from_round_1_to_3": sum(trial.rise.mean > 0 for trial in trials),
        "rose_beyond_interval": sum(trial.rise.low > 0 for trial in trials),
        "rise": _interval(mean_interval([trial.rise.mean for trial in trials])),
        "gain": _interval(mean_interval([trial.gain.mean for trial in trials])),
        "largest_gain_of_a_seed": max(abs(trial.gain.mean) for trial in trials),
        "sampled_accuracy": [[trial.start, *trial.sampled] for trial in trials],
        "greedy_accuracy": [list(trial.greedy) for trial in trials],
        "learning_rates": [list(trial.learning_rates) for trial in trials],
        "verdicts": [list(trial.verdicts) for trial in trials],
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _learning_rate(config: pl.DataFrame) -> float:
    return float(json.loads(config.filter(pl.col("name") == "learning_rate")["value"][0]))


def _interval(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.mean, interval.low, interval.high)]


def _shown(interval: Interval) -> str:
    return f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
