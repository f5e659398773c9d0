"""The figures of the closed loop, from evaluations whose answers are known."""

import json
from pathlib import Path

import polars as pl

from agent_evo_dagster.warehouse import Warehouse
from benchmarks.closed_loop_figures import ROUNDS, read_trial, show, summary


def evaluation(before: int, after: int) -> pl.DataFrame:
    """Ten tasks, two rollouts each; the first tasks are right."""
    rows = [
        (policy, mode, f"t{task}", task < right)
        for policy, right in (("before", before), ("after", after))
        for mode in ("sampled", "sampled", "greedy")
        for task in range(10)
    ]
    return pl.DataFrame(rows, schema=["policy", "mode", "task_id", "correct"], orient="row")


def stored(home: Path, accuracies: list[tuple[int, int]]) -> None:
    store = Warehouse(home / "warehouse")
    for key, (before, after) in zip(ROUNDS, accuracies, strict=True):
        store.write(("policy_evaluation",), key, evaluation(before, after))
        config = pl.DataFrame({"name": ["learning_rate"], "value": ["2e-05"]})
        store.write(("training_config",), key, config)
        store.write(("patch_evaluation",), key, pl.DataFrame({"verdict": ["accept"]}))


def test_a_trial_tells_accuracy_by_round_and_the_paired_rise(tmp_path: Path) -> None:
    stored(tmp_path, [(1, 2), (2, 4), (4, 7)])
    trial = read_trial(tmp_path, "gated", 0)
    assert (trial.start, trial.sampled) == (0.1, (0.2, 0.4, 0.7))
    assert (round(trial.rise.mean, 9), round(trial.gain.mean, 9)) == (0.5, 0.6)
    assert 0 < trial.rise.low < 0.5 < trial.rise.high <= 1
    assert trial.learning_rates == (2e-5, 2e-5, 2e-5)


def test_a_control_that_stays_where_it_started_has_no_gain(tmp_path: Path) -> None:
    stored(tmp_path, [(3, 3)] * 3)
    trial = read_trial(tmp_path, "zero", 0)
    assert (trial.gain.mean, trial.gain.low, trial.gain.high) == (0, 0, 0)


def test_the_summary_counts_the_seeds_that_rose_and_is_one_json_line(tmp_path: Path) -> None:
    for seed, third in enumerate((7, 1)):
        stored(tmp_path / str(seed), [(1, 2), (2, 4), (4, third)])
    trials = [read_trial(tmp_path / str(seed), "gated", seed) for seed in range(2)]
    figures = summary(trials)["arms"]["gated"]
    assert (figures["seeds"], figures["rose_from_round_1_to_3"]) == (2, 1)
    assert "\n" not in json.dumps(summary(trials))
    assert len(show(trials).splitlines()) == 3
