"""What the rounds of one home stored, read back. No statistics over seeds, no running."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.summary import task_means
from agent_evo_dagster.rounds.keys import round_key
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.training.output import read_evaluation
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.warehouse import Warehouse
from benchmarks.closed_loop_fresh import fresh_folder

Number = int | float
Scores = tuple[tuple[float, ...], ...]  # at the start and after each round: the accuracy of every task


@dataclass(frozen=True, slots=True)
class Judged:
    """One patch that a round proposed, what the gate found, and what was decided."""

    round: int
    patch_id: str
    settings: Mapping[str, tuple[Number, Number]]  # old and new
    verdict: str
    decision: str
    difference: float | None  # of reward, candidate minus baseline; null where nothing was measured
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """The rounds of one arm and seed."""

    arm: str
    seed: int
    tasks: tuple[str, ...]
    sampled: Scores
    greedy: Scores
    fresh: Scores  # sampled, after round 1 and after the last, on tasks that only this seed is scored on
    settings: tuple[Mapping[str, Number | str], ...]  # what each round trained with
    patches: tuple[Judged, ...]
    checkpoints: tuple[str, ...]  # hash of the folder that the first round started from, and of each round's
    weights: int
    weights_changed: int  # from the start to the end: those that differ in any bit


def read_trial(home: Path, arm: str, seed: int, rounds: int) -> Trial:
    """What the finished rounds of a home stored.

    Raises:
        EvaluationError: the rounds were not scored on the same tasks.
    """
    store, keys = Warehouse(home / "warehouse"), [round_key(number + 1) for number in range(rounds)]
    stages = [_scores(store.read(("policy_evaluation",), keys[0]), "before")]
    stages += [_scores(store.read(("policy_evaluation",), key), "after") for key in keys]
    if any(stage[mode].keys() != stages[0][mode].keys() for stage in stages for mode in stage):
        raise EvaluationError(f"The rounds in {home} were not scored on the same tasks. Run them again.")
    fresh = read_evaluation(fresh_folder(home))
    runs = [store.read(("training_run",), key).row(0, named=True) for key in keys]
    total, changed = changed_weights(EMBEDDED, train_dir(home / "runs", keys[-1]) / "checkpoint")
    return Trial(
        arm=arm,
        seed=seed,
        tasks=tuple(stages[0]["sampled"]),
        sampled=tuple(tuple(stage["sampled"].values()) for stage in stages),
        greedy=tuple(tuple(stage["greedy"].values()) for stage in stages),
        fresh=tuple(tuple(_scores(fresh, policy)["sampled"].values()) for policy in ("before", "after")),
        settings=tuple(_settings(store.read(("training_config",), key)) for key in keys),
        patches=tuple(patch for number, key in enumerate(keys, 1) for patch in _patches(store, number, key)),
        checkpoints=(runs[0]["init_sha256"], *(run["checkpoint_sha256"] for run in runs)),
        weights=total,
        weights_changed=changed,
    )


def changed_weights(before: Path, after: Path) -> tuple[int, int]:
    """All weights of a checkpoint, and those that differ in any bit; both read as 32-bit floats."""
    import torch
    from safetensors.torch import load_file

    old, new = (load_file(folder / "model.safetensors") for folder in (before, after))
    if old.keys() != new.keys():
        raise EvaluationError(
            f"{before} and {after} hold different weights: {sorted(old.keys() ^ new.keys())}"
        )
    pairs = [(old[name].to(torch.float32), new[name].to(torch.float32)) for name in sorted(old)]
    changed = [(one.view(torch.int32) != other.view(torch.int32)).sum().item() for one, other in pairs]
    return sum(one.numel() for one, _ in pairs), int(sum(changed))


def _scores(evaluation: pl.DataFrame, policy: str) -> dict[str, dict[str, float]]:
    """Accuracy by task, for each mode, in the order of task ids."""
    rows = task_means(evaluation.filter(pl.col("policy") == policy))
    found: dict[str, dict[str, float]] = {"sampled": {}, "greedy": {}}
    for mode, task, accuracy in rows.select("mode", "task_id", "accuracy").iter_rows():
        found[mode][task] = accuracy
    return found


def _settings(config: pl.DataFrame) -> dict[str, Number | str]:
    return {name: json.loads(value) for name, value in config.select("name", "value").iter_rows()}


def _patches(store: Warehouse, number: int, key: str) -> list[Judged]:
    proposed = store.read(("skill_patches",), key).select("patch_id", "settings")
    judged = store.read(("patch_evaluation",), key).select("patch_id", "verdict", "difference", "low", "high")
    decided = store.read(("patch_decisions",), key).select("patch_id", "decision")
    rows = proposed.join(judged, on="patch_id", how="left").join(decided, on="patch_id", how="left")
    return [_judged(number, row) for row in rows.sort("patch_id").iter_rows(named=True)]


def _judged(number: int, row: dict[str, Any]) -> Judged:
    settings = {name: (old, new) for name, (old, new) in json.loads(row.pop("settings")).items()}
    return Judged(round=number, settings=settings, **row)
