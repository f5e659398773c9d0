"""A whole run of the backend verl, whose trainer is a script that leaves the files that verl leaves."""

import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.errors import TrainingError, WorkerError
from agent_evo_dagster.training import elsewhere
from agent_evo_dagster.training.backends import foreign, verl
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.verl_checkpoints import merge_command, newest_checkpoint
from agent_evo_dagster.training.backends.verl_files import TASK_SCHEMA, task_frame, write_files
from agent_evo_dagster.training.backends.verl_metrics import MetricsReader
from agent_evo_dagster.training.backends.verl_overrides import VerlFiles
from agent_evo_dagster.training.backends.verl_preflight import require_cpus
from agent_evo_dagster.training.backends.verl_rows import read_dumps, read_rows
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.environment_choice import environment_of
from agent_evo_dagster.training.metrics import read_metrics
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.reporting import RunReporter
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA

CONFIG = TrainingConfig(
    backend="verl", max_steps=4, num_iterations=2, prompts_per_step=3, num_generations=2, save_steps=2
)
STUB = Path(__file__).with_name("stub_verl.py")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Trains with the stub in a mode of its own; the merger copies the policy that the run began with."""
    monkeypatch.setattr(foreign, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(verl, "compose", lambda arguments: None)
    monkeypatch.setattr(verl, "require_cpus", lambda settings, ray: None)
    monkeypatch.setattr(verl, "require_devices", lambda device, count: None)
    monkeypatch.setattr(verl, "command_of", lambda arguments: [sys.executable, str(STUB), *arguments])
    monkeypatch.setattr(verl, "merge", lambda *a, **k: shutil.copytree(a[2], a[3]))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))

    def train(mode="good", config=CONFIG):
        monkeypatch.setenv("STUB_VERL", mode)
        reporter = RunReporter(tmp_path, None)
        return verl.train_with_verl(config, Deployment(), EMBEDDED, tmp_path, reporter)

    return train


def test_a_run_leaves_rollouts_metrics_and_a_checkpoint_in_the_form_of_every_backend(run, tmp_path):
    trained = run()
    assert (trained.steps, trained.stopped_early) == (4, None)
    assert trained.checkpoint == tmp_path / "checkpoint"
    rollouts = trained.rollouts
    assert rollouts.schema == ROLLOUT_SCHEMA
    assert rollouts["step"].unique().sort().to_list() == [1, 3]  # two optimiser steps on each batch
    assert rollouts["policy_version"].unique().sort().to_list() == [0, 2]
    assert rollouts["group"].unique().sort().to_list() == list(range(6))
    assert rollouts["response_mask"][0].to_list() == [1, 0, 1]
    tasks = environment_of(CONFIG).tasks("train", 6, CONFIG.seed)
    assert rollouts["task_id"].to_list() == [task.task_id for task in tasks for _ in range(2)]


def test_metrics_have_the_names_of_every_backend_and_a_clocks_values_lie_apart(run, tmp_path):
    run()
    metrics = read_metrics(tmp_path / "metrics.jsonl")
    last = dict(metrics.filter(pl.col("step") == 4).select("name", "value").iter_rows())
    assert last["reward"] == 0.75
    assert last["loss"] == 0.1
    assert last["reward_std"] == pytest.approx(0.3535, abs=1e-3)
    assert last["frac_reward_zero_std"] == 0
    assert last["rollout/accuracy"] == 0.5
    assert not [name for name in last if "timing" in name or "perf" in name]
    timings = json.loads((tmp_path / "timings.jsonl").read_text().splitlines()[0])["timings"]
    assert timings["step_time"] == 1.5
    assert timings["rollout_tokens_per_second"] == 99.0


def test_a_trainer_that_fails_is_told_with_the_end_of_its_log(run):
    with pytest.raises(WorkerError, match=r"(?s)exit code 1\..*verl\.log.*less than total desired GPUs 1"):
        run("fails")


def test_npus_that_are_not_here_are_refused_before_verl_is_started(run, tmp_path):
    with pytest.raises(TrainingError, match=r"device=npu cannot work so"):
        run(config=CONFIG.model_copy(update={"device": "npu"}))
    assert list(tmp_path.rglob("verl.log")) == []


def test_rollouts_that_nobody_kept_are_an_error(run):
    with pytest.raises(TrainingError, match=r"no row of it was kept.*all nodes share"):
        run("lost rows")


def test_another_reward_than_the_environments_is_an_error(run):
    with pytest.raises(TrainingError, match=r"used the reward 0\.75 .*its environment gave 0\.5"):
        run("other reward")


def test_a_run_without_a_checkpoint_is_an_error(run):
    with pytest.raises(TrainingError, match=r"left no checkpoint.*save_steps"):
        run("saves nothing")


def test_a_gradient_that_is_no_number_stops_verl_and_keeps_what_it_saved(run):
    trained = run("nan")
    assert trained.stopped_early == "step 2: grad_norm not finite"
    assert trained.steps == 2


def test_sharded_checkpoints_do_not_stay_unless_asked_for(run, tmp_path):
    run()
    assert not (tmp_path / "verl/checkpoints").exists()
    assert read_rows(tmp_path / "verl/rows")


def test_the_tasks_are_written_as_verl_reads_them(renderer):
    environment = environment_of(CONFIG, renderer.chat_template)
    tasks = environment.tasks("dev", 3, 1)
    frame = task_frame(environment, tasks, "dev", "arithmetic")
    assert frame.schema == TASK_SCHEMA
    row = frame.row(2, named=True)
    assert row["extra_info"] == {"index": 2, "task_id": tasks[2].task_id, "split": "dev"}
    assert row["reward_model"]["ground_truth"] == tasks[2].answer
    assert row["prompt"][-1]["content"].endswith(tasks[2].question)


def test_a_prompt_that_verl_has_no_room_for_is_told_before_it_starts(renderer, tmp_path):
    environment = environment_of(CONFIG, renderer.chat_template)
    with pytest.raises(TrainingError, match=r"tokens, and verl\.max_prompt_length is 5\."):
        write_files(
            CONFIG, VerlSettings(max_prompt_length=5), environment, renderer, VerlFiles(tmp_path / "verl")
        )


def test_a_line_that_verl_has_not_finished_is_read_later(tmp_path):
    path = tmp_path / "m.jsonl"
    reader = MetricsReader(path)
    assert list(reader.new()) == []
    path.write_text('{"step": 1, "data": {"actor/lr": 1e-3}}\n{"step": 2, "da')
    assert [step.step for step in reader.new()] == [1]
    with path.open("a") as stream:
        stream.write('ta": {"actor/grad_norm": null, "actor/name": "x"}}\n')
    (second,) = reader.new()
    assert (second.step, dict(second.metrics)) == (2, {"grad_norm": None})
    path.write_text(path.read_text() + "nonsense\n")
    with pytest.raises(TrainingError, match="no step of verl's metrics"):
        list(reader.new())


def test_broken_rows_and_dumps_are_named_by_file_and_line(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"step": 1, "score": 0.5, "uid": "a_0_0"}\n{"step": 1}\n')
    with pytest.raises(TrainingError, match=r"1\.jsonl, line 2 is no line of verl's dump"):
        list(read_dumps(tmp_path))
    with pytest.raises(TrainingError, match=r"1\.jsonl, line 1 is no rollout"):
        read_rows(tmp_path)


def test_dumps_are_read_in_the_order_of_steps(tmp_path):
    for step in (10, 2, 1):
        line = json.dumps({"step": step, "score": 0.0, "uid": f"u{step}_0_0"})
        (tmp_path / f"{step}.jsonl").write_text(line + "\n")
    assert [dumped.step for dumped in read_dumps(tmp_path)] == [1, 2, 10]


def test_the_newest_checkpoint_is_the_one_with_the_highest_number(tmp_path):
    for step in (5, 10, 9):
        (tmp_path / f"global_step_{step}/actor").mkdir(parents=True)
    (tmp_path / "global_step_11").mkdir()  # verl was killed before it wrote anything
    assert newest_checkpoint(tmp_path) == (10, tmp_path / "global_step_10/actor")


def test_megatron_shards_are_merged_with_what_megatron_needs(tmp_path):
    command = merge_command("megatron", tmp_path / "s", tmp_path / "t", tied=True)
    assert command[3:] == [
        "merge", "--backend", "megatron", "--local_dir", str(tmp_path / "s"), "--target_dir",
        str(tmp_path / "t"), "--use_cpu_initialization", "--tie-word-embedding",
    ]  # fmt: skip


def test_a_machine_with_too_few_cpus_is_refused_since_verl_would_wait_for_ever():
    settings = VerlSettings(devices_per_node=2, storage_units=2)
    require_cpus(settings, RaySettings(num_cpus=9))
    with pytest.raises(TrainingError, match=r"asks Ray for 9 CPUs a node .* than the 8 here"):
        require_cpus(settings, RaySettings(num_cpus=8))


def test_a_part_of_a_larger_job_ticks_its_heart(tmp_path):
    class Reporter:
        ticks, told = 0, ()

        def tick(self):
            self.ticks += 1

        def tell_step(self, step, metrics):
            self.told += (step,)

    reporter = Reporter()
    beside = elsewhere.Beside(tmp_path, reporter)
    beside.tick()
    beside.step(3, {"reward": 1.0}, {})
    assert (reporter.ticks, reporter.told) == (1, (3,))
    assert read_metrics(tmp_path / "metrics.jsonl").height == 1
