"""GRPO on the embedded policy against the same training with a learning rate of 0, over seeds. No rounds.

`python -m benchmarks.grpo_control [--seeds 5] [--steps 8] [--rate 6e-4]` trains and scores both arms of each
seed in a worker, as the gate does. Each seed is scored on held-out problems of its own. The last line is one
JSON object; the exit code is 1 where training gains nothing, or the control moves.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agent_evo_dagster.evaluation.intervals import Interval, mean_interval, paired_bootstrap
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.jobs import EVALUATION_FILE
from agent_evo_dagster.training.launch import run_worker
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.request import EvaluationSpec, ProbeSpec, WorkerRequest

MODES = ("sampled", "greedy")
HEARTBEAT_SECONDS, LIMIT_SECONDS = 300.0, 3600.0


@dataclass(frozen=True)
class Trial:
    """What one seed gave: accuracy of each task, by arm and mode."""

    seed: int
    accuracy: dict[tuple[str, str], tuple[float, ...]]  # (start | control | trained, mode)

    def mean(self, arm: str, mode: str) -> float:
        """Over tasks."""
        values = self.accuracy[arm, mode]
        return sum(values) / len(values)

    def gain(self, mode: str) -> Interval:
        """Trained minus control, paired over tasks."""
        return paired_bootstrap(self.accuracy["control", mode], self.accuracy["trained", mode])

    @property
    def still(self) -> bool:
        """Whether the control has the start's score on every task."""
        return all(self.accuracy["control", mode] == self.accuracy["start", mode] for mode in MODES)


def trial(seed: int, *, steps: int, rate: float, tasks: int, folder: Path) -> Trial:
    """Train and score both arms of one seed in workers, below `folder`."""
    control = TrainingConfig(learning_rate=0, seed=seed)
    common: dict[str, Any] = {
        "config": control,
        "init_checkpoint": None,
        "evaluation": EvaluationSpec(split="report", tasks=tasks, samples=2, greedy=True, seed=1000 + seed),
    }
    candidate = control.model_copy(update={"learning_rate": rate})
    trained = ProbeSpec(candidate=candidate, seeds=(seed,), steps=steps)
    probe = WorkerRequest(job="probe", run_dir=folder / "probe", probe=trained, **common)
    start = WorkerRequest(job="evaluate", run_dir=folder / "start", checkpoint=EMBEDDED, **common)
    for request in (probe, start):
        run_worker(request, python=None, heartbeat_timeout=HEARTBEAT_SECONDS, time_limit=LIMIT_SECONDS)
    return Trial(
        seed,
        {
            **_accuracy(folder / "probe", {"baseline": "control", "candidate": "trained"}),
            **_accuracy(folder / "start", {"before": "start"}),
        },
    )


def _accuracy(folder: Path, arms: dict[str, str]) -> dict[tuple[str, str], tuple[float, ...]]:
    frame = pl.read_parquet(folder / EVALUATION_FILE).filter(pl.col("policy").is_in(list(arms)))
    by_task = frame.group_by("policy", "mode", "task_id", maintain_order=True).agg(pl.col("correct").mean())
    return {
        (arms[str(policy)], str(mode)): tuple(part.sort("task_id")["correct"].to_list())
        for (policy, mode), part in by_task.group_by("policy", "mode", maintain_order=True)
    }


def figures(trials: Sequence[Trial]) -> dict[str, Any]:
    """What the last line holds: means by arm, gains with their intervals, and whether the control stayed."""
    summed = {
        mode: {
            **{
                arm: sum(each.mean(arm, mode) for each in trials) / len(trials)
                for arm in ("start", "control", "trained")
            },
            "gain": _bounds(mean_interval([each.gain(mode).mean for each in trials])),
            "gain_by_seed": {str(each.seed): _bounds(each.gain(mode)) for each in trials},
        }
        for mode in MODES
    }
    return {**summed, "control_still": sum(each.still for each in trials), "seeds": len(trials)}


def _bounds(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.mean, interval.low, interval.high)]


def met(found: dict[str, Any]) -> bool:
    """Whether every seed gains when sampled, beyond its interval, and no control moved."""
    gains = found["sampled"]["gain_by_seed"].values()
    return all(low > 0 for _, low, _ in gains) and found["control_still"] == found["seeds"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rate", type=float, default=6e-4, help="learning rate of the trained arm")
    parser.add_argument("--tasks", type=int, default=200, help="held-out problems of each seed")
    asked = parser.parse_args()
    trials = []
    print(f"{'seed':>4} {'':8} {'start':>7} {'control':>8} {'trained':>8}   gain [95 %]", flush=True)
    for seed in range(asked.seeds):
        with tempfile.TemporaryDirectory(prefix="grpo-control-") as folder:
            found = trial(seed, steps=asked.steps, rate=asked.rate, tasks=asked.tasks, folder=Path(folder))
        trials.append(found)
        for mode in MODES:
            cells = [f"{found.mean(arm, mode):{width}.3f}" for arm, width in _COLUMNS]
            mean, low, high = _bounds(found.gain(mode))
            print(f"{seed:4} {mode:8} {' '.join(cells)}   {mean:+.3f} [{low:+.3f}, {high:+.3f}]", flush=True)
    result = {"steps": asked.steps, "learning_rate": asked.rate, "tasks": asked.tasks, **figures(trials)}
    print(json.dumps(result))
    return 0 if met(result) else 1


_COLUMNS = (("start", 7), ("control", 8), ("trained", 8))

if __name__ == "__main__":
    raise SystemExit(main())
