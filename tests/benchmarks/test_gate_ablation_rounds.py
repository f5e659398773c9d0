"""The rounds of the gate's ablation, with a trainer that is told what each setting does to a policy."""

import json
from itertools import count, islice

import polars as pl
import pytest

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.request import WorkerResult
from benchmarks import gate_ablation_rounds
from benchmarks.gate_ablation import trials
from benchmarks.gate_ablation_figures import accuracy, adopted, advantage, drawn, json_line, lost, met, table
from benchmarks.gate_ablation_rounds import Plan

PLAN = Plan(probe_tasks=20, probe_samples=4, tasks=20)


def skill(config):
    """The share of tasks that a policy solves after a training with these settings."""
    if config.max_new_tokens == 8 or config.learning_rate > 1e-3:
        return 0.1
    return 0.8 if config.learning_rate == 1e-4 else 0.4


def rows(split, share, *, policy, seed, samples):
    names = (name for name in (f"task-{number}" for number in count()) if split_of(name) == split)
    return [
        {"policy": policy, "seed": seed, "mode": "sampled", "task_id": task, "sample": sample,
         "finish": "stop", "reward": float(at < share * 20), "correct": at < share * 20,
         "turns": 1, "tokens": 5}
        for at, task in enumerate(islice(names, 20))
        for sample in range(samples)
    ]  # fmt: skip


class Trainer:
    """Does a job at once, and counts."""

    def __init__(self):
        self.jobs = []

    def __call__(self, request, **_):
        self.jobs.append(request.job)
        share, folder = skill(request.config), request.run_dir
        if request.job == "train":
            (folder / "checkpoint").mkdir()
        elif request.job == "evaluate":
            start = 0.3 if request.init_checkpoint is None else share
            sides = [("before", start), ("after", share)]
            found = [
                row for side, part in sides for row in rows("report", part, policy=side, seed=0, samples=2)
            ]
            pl.DataFrame(found).write_parquet(folder / "evaluation.parquet")
        else:
            sides = [("baseline", share), ("candidate", skill(request.probe.candidate))]
            found = [
                row
                for side, part in sides
                for seed in request.probe.seeds
                for row in rows("judge", part, policy=side, seed=seed, samples=4)
            ]
            pl.DataFrame(found).write_parquet(folder / "evaluation.parquet")
        result = WorkerResult(
            job=request.job, steps=6, checkpoint_sha256=f"weights {share}", init_sha256="base", packages={},
            peak_memory_bytes=0, wall_seconds=0, cpu_seconds=0,
        )  # fmt: skip
        (folder / "result.json").write_text(result.model_dump_json())


@pytest.fixture
def trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(gate_ablation_rounds, "run_worker", trainer)
    return trainer


@pytest.fixture
def found(trainer, tmp_path):
    return trials(tmp_path / "home", range(2), PLAN, together=1)


def test_the_gate_adopts_what_helps_and_nothing_else(found):
    assert adopted(found, "gate on") == {"helpful": "2 of 2", "useless": "0 of 4", "harmful": "0 of 4"}
    assert adopted(found, "gate off") == {"helpful": "2 of 2", "useless": "4 of 4", "harmful": "4 of 4"}


def test_a_policy_with_the_gate_is_never_below_its_start_and_ends_above_the_one_without(found):
    assert [lost(trial) for trial in found if trial.arm == "gate on"] == [[], []]
    assert all(lost(trial) for trial in found if trial.arm == "gate off")
    assert accuracy(found, "gate on", -1).mean == 0.8
    assert advantage(found).low > 0
    assert met(found)


def test_what_was_done_is_not_done_again_and_gives_the_same_line(trainer, found, tmp_path):
    jobs = list(trainer.jobs)
    assert json_line(trials(tmp_path / "home", range(2), PLAN, together=1)) == json_line(found)
    for record in (tmp_path / "home").glob("*/trial.json"):  # interrupted before an arm was whole
        record.unlink()
    assert json_line(trials(tmp_path / "home", range(2), PLAN, together=1)) == json_line(found)
    assert trainer.jobs == jobs


def test_a_home_of_other_code_is_refused(found, tmp_path):
    (tmp_path / "home" / "code").write_text("other")
    with pytest.raises(RoundError, match="made by code other"):
        trials(tmp_path / "home", range(2), PLAN, together=1)


def test_the_table_the_line_and_the_drawing_tell_the_same_end(found):
    told = json.loads(json_line(found))
    assert told["met"]
    assert told["arms"]["gate on"]["accuracy"][-1][0] == 0.8
    assert told["arms"]["gate off"]["gate_steps"] == 0
    assert (
        told["arms"]["gate on"]["gate_steps"] == 2 * 5 * 2 * 2 * 6
    )  # seeds, rounds, sides, probe seeds, steps
    assert "+ helpful learning_rate to 0.0001: accept" in table(found)
    plot = drawn(found)
    assert "gate on ends at 0.800" in plot.alt
    assert plot.svg == drawn(found).svg
