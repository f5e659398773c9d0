"""A killed training goes on from its last whole state, and ends with the bytes of one that was not killed."""

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.jobs import identity
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult
from agent_evo_dagster.training.states import States
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA

CONFIG = TrainingConfig(
    learning_rate=1e-3, max_steps=6, prompts_per_step=4, num_generations=4, save_steps=2, num_iterations=2,
    seed=7,
)  # fmt: skip
ROWS = ROLLOUT_SCHEMA.to_frame()


def start(folder, config=CONFIG):
    run_dir = folder / "run"
    run_dir.mkdir(parents=True, exist_ok=True)
    request = WorkerRequest(job="train", run_dir=run_dir, config=config, init_checkpoint=None)
    (folder / "REQUEST.json").write_text(request.model_dump_json())
    command = [sys.executable, "-m", "agent_evo_dagster.training.worker", str(folder / "REQUEST.json")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def steps_filed(folder):
    path = folder / "run/metrics.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    folder = tmp_path_factory.mktemp("whole")
    process = start(folder)
    told = process.communicate()[1]
    assert process.returncode == 0, told
    return folder / "run"


def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(tmp_path, whole):
    process = start(tmp_path)
    while steps_filed(tmp_path) < 5 and process.poll() is None:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    if (tmp_path / "run/result.json").exists():
        pytest.fail("it was done before it could be killed; train for longer")
    process = start(tmp_path)
    told = process.communicate()[1]
    assert process.returncode == 0, told
    assert "goes on after step 4" in told
    assert "step 2 of 6:" not in told
    assert "step 5 of 6:" in told
    for name in ("metrics.jsonl", "rollouts.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes(), name
    assert sha256_tree(tmp_path / "run/checkpoint") == sha256_tree(whole / "checkpoint")
    assert not (tmp_path / "run/resume").exists()
    assert WorkerResult.model_validate_json((tmp_path / "run/result.json").read_bytes()).steps == 6


@pytest.mark.parametrize("changed", [{"learning_rate": 0.0}, {"seed": 8}, {"max_steps": 7}])
def test_another_training_has_another_identity(tmp_path, changed):
    def identity_of(config):
        request = WorkerRequest(job="train", run_dir=tmp_path, config=config, init_checkpoint=None)
        return identity(request, "sha")

    assert identity_of(CONFIG) == identity_of(CONFIG.model_copy())
    assert identity_of(CONFIG) != identity_of(CONFIG.model_copy(update=changed))


def lines(run_dir, count):
    for name, key in (("metrics.jsonl", "metrics"), ("timings.jsonl", "timings")):
        rows = [json.dumps({"step": step, key: {"x": step}}) + "\n" for step in range(1, count + 1)]
        (run_dir / name).write_text("".join(rows))


def saved(states, step):
    """As the trainer does it: the folder is there before it counts."""
    folder = states.folder / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "optimizer.pt").write_bytes(b"x")
    return folder


def test_only_a_marked_state_counts_and_metrics_go_back_to_it(tmp_path):
    states = States(tmp_path, "a")
    assert states.newest() is None
    lines(tmp_path, 2)
    saved(states, 2)
    states.complete(2, ROWS)
    lines(tmp_path, 5)
    saved(states, 4)
    found = States(tmp_path, "a").newest()
    assert found.step == 2
    assert found.steps == [{"x": 1}, {"x": 2}]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    assert [path.name for path in states.folder.glob("checkpoint-*")] == ["checkpoint-2"]
    assert found.rollouts.schema == pl.Schema(ROLLOUT_SCHEMA)


def test_a_newer_state_takes_the_place_of_the_older(tmp_path):
    states = States(tmp_path, "a")
    states.newest()
    for step in (2, 4):
        lines(tmp_path, step)
        saved(states, step)
        states.complete(step, ROWS)
    assert [path.name for path in states.folder.glob("checkpoint-*")] == ["checkpoint-4"]


def test_another_identity_empties_the_folder(tmp_path):
    states = States(tmp_path, "a")
    states.newest()
    lines(tmp_path, 2)
    saved(states, 2)
    states.complete(2, ROWS)
    assert States(tmp_path, "b").newest() is None
    assert States(tmp_path, "a").newest() is None
