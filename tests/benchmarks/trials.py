"""Trials and stored rounds whose figures are known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from agent_evo_dagster.training.types import EVALUATION_SCHEMA
from agent_evo_dagster.warehouse import Warehouse
from benchmarks.closed_loop_fresh import fresh_folder
from benchmarks.closed_loop_trials import Judged, Trial

TASKS = tuple(f"t{number:02d}" for number in range(20))
SLOW, FAST = {"learning_rate": 2e-5}, {"learning_rate": 1e-4}
RAISED = Judged(1, "p-1", {"learning_rate": (2e-5, 1e-4)}, "accept", "approve", 0.1, 0.05, 0.15)


def right(count: int) -> tuple[float, ...]:
    """The accuracy of each task where the first `count` are right."""
    return tuple(float(number < count) for number in range(len(TASKS)))


def trial(
    arm: str = "gated",
    seed: int = 0,
    *,
    solved: Sequence[int] = (2, 4, 9, 14),
    fresh: Sequence[int] = (5, 13),
    settings: Sequence[Mapping[str, float | str]] = (SLOW, FAST, FAST),
    patches: Sequence[Judged] = (RAISED,),
    checkpoints: Sequence[str] = ("base", "one", "two", "three"),
    weights_changed: int = 8,
) -> Trial:
    """Three rounds after which so many of 20 tasks are solved."""
    stages = tuple(right(count) for count in solved)
    return Trial(
        arm,
        seed,
        TASKS,
        stages,
        stages,
        tuple(right(count) for count in fresh),
        tuple(settings),
        tuple(patches),
        tuple(checkpoints),
        10,
        weights_changed,
    )


def evaluation(before: int, after: int, tasks: Sequence[str] = TASKS) -> pl.DataFrame:
    """Two sampled rollouts and a greedy one of each task; the first tasks are right."""
    rows = [
        (policy, 7, mode, task, sample, float(number < solved), number < solved)
        for policy, solved in (("before", before), ("after", after))
        for mode, sample in (("sampled", 0), ("sampled", 1), ("greedy", 0))
        for number, task in enumerate(tasks)
    ]
    columns = ["policy", "seed", "mode", "task_id", "sample", "reward", "correct"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def store_fresh(home: Path, before: int, after: int) -> None:
    """The scores on tasks of the seed's own, as the worker writes them."""
    rows = evaluation(before, after).with_columns(finish=pl.lit("stop"), turns=1, tokens=10)
    fresh_folder(home).mkdir()
    rows.cast(EVALUATION_SCHEMA).select(*EVALUATION_SCHEMA).write_parquet(
        fresh_folder(home) / "evaluation.parquet"
    )


def store_round(
    home: Path, key: str, scores: pl.DataFrame, learning_rate: float, weights: list[float]
) -> None:
    """What a round leaves, as far as the benchmark reads it; its patch raises the learning rate fivefold."""
    import torch
    from safetensors.torch import save_file

    store = Warehouse(home / "warehouse")
    move = json.dumps({"learning_rate": [learning_rate, 5 * learning_rate]})
    gate = {"verdict": "accept", "difference": 0.1, "low": 0.05, "high": 0.15}
    store.write(("policy_evaluation",), key, scores)
    config = {"name": ["learning_rate", "loss_type"], "value": [json.dumps(learning_rate), '"dapo"']}
    store.write(("training_config",), key, pl.DataFrame(config))
    store.write(("skill_patches",), key, pl.DataFrame({"patch_id": [f"p-{key}"], "settings": [move]}))
    store.write(("patch_evaluation",), key, pl.DataFrame([{"patch_id": f"p-{key}", **gate}]))
    decision = {"patch_id": f"p-{key}", "decision": "approve"}
    store.write(("patch_decisions",), key, pl.DataFrame([decision]))
    run = {"init_sha256": "base", "checkpoint_sha256": f"weights of {key}"}
    store.write(("training_run",), key, pl.DataFrame([run]))
    folder = home / "runs" / key / "train" / "checkpoint"
    folder.mkdir(parents=True)
    save_file({"w": torch.tensor(weights)}, folder / "model.safetensors")
