"""A training job as a step of a Dagster run. The worker is a small script that speaks Pipes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.request import WorkerRequest
from resources.trainer import TrainerResource, step_table

WORKER = """\
#!{python}
import json, math, pathlib, sys
from dagster_pipes import open_dagster_pipes

run_dir = pathlib.Path(json.loads(pathlib.Path(sys.argv[-1]).read_text())["run_dir"])
with open_dagster_pipes() as pipes:
    pipes.log.info("two steps to go")
    steps = [{{"reward": 0.25, "kl": math.nan, "num_tokens": 9}}, {{"reward": 0.5}}]
    for step, metrics in enumerate(steps, start=1):
        pipes.report_custom_message({{"type": "step", "phase": "train", "step": step, "metrics": metrics}})
    if {fails}:
        raise RuntimeError("no luck")
(run_dir / "metrics.jsonl").write_text("{{}}")
(run_dir / "result.json").write_text(json.dumps({{
    "job": "train", "backends": ["hf"], "steps": 2, "init_sha256": "0", "packages": {{}},
    "peak_memory_bytes": 1, "wall_seconds": 1, "cpu_seconds": 1}}))
"""


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., dg.ExecuteInProcessResult]:
    def run(*, fails: bool = False, **settings: object) -> dg.ExecuteInProcessResult:
        script = tmp_path / "python"
        script.write_text(WORKER.format(python=sys.executable, fails=fails))
        script.chmod(0o755)

        @dg.asset
        def training_run(context: dg.AssetExecutionContext, trainer: TrainerResource) -> dg.MaterializeResult:
            request = WorkerRequest(
                job="train", run_dir=tmp_path / "run", config=TrainingConfig(), init_checkpoint=None
            )
            result = trainer.run(context, request)
            return dg.MaterializeResult(metadata={"total": result.steps})

        return dg.materialize(
            [training_run],
            resources={"trainer": TrainerResource(**{"python": str(script), **settings})},
            instance=dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)),
            raise_on_error=False,
        )

    return run


def test_steps_reach_the_metadata_beside_the_asset_s_own(train):
    result = train()
    (materialization,) = result.asset_materializations_for_node("training_run")
    steps = materialization.metadata["steps"]
    assert isinstance(steps, dg.TableMetadataValue)
    assert [record.data for record in steps.records] == [
        {"phase": "train", "step": 1, "reward": 0.25, "kl": None},
        {"phase": "train", "step": 2, "reward": 0.5, "kl": None},
    ]
    assert materialization.metadata["total"].value == 2


def test_the_folder_is_put_in_place_when_whole(train, tmp_path):
    train()
    assert (tmp_path / "run/metrics.jsonl").exists()
    assert list(tmp_path.glob(".run.partial-*")) == []


def test_log_lines_of_the_worker_reach_the_log(train, capfd):
    train()
    assert "two steps to go" in capfd.readouterr().err


def test_a_failed_worker_fails_the_step_with_its_log_and_leaves_no_folder(train, tmp_path):
    result = train(fails=True)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    message = failure.step_failure_data.error.cause.message
    assert "WorkerError" in message
    assert "exit code 1" in message
    assert "RuntimeError: no luck" in message
    assert not (tmp_path / "run").exists()


def test_messages_of_another_kind_make_no_table():
    assert step_table([{"type": "phase", "phase": "rollout"}, "text", None]) is None


def test_the_worker_is_told_where_it_computes_and_runs_in_the_python_of_its_backend(train, tmp_path):
    deployment = tmp_path / "deployment.yaml"
    text = {"python": {"hf": str(tmp_path / "python")}, "vllm": {"concurrency": 3}}
    deployment.write_text(json.dumps(text))
    assert train(python=str(tmp_path / "nowhere"), deployment=str(deployment)).success
    asked = json.loads((tmp_path / "run/REQUEST.json").read_text())
    assert asked["deployment"]["vllm"]["concurrency"] == 3


def test_a_deployment_that_cannot_be_used_is_told_by_field(train, tmp_path):
    deployment = tmp_path / "deployment.yaml"
    deployment.write_text("ray: {submit: job}\nverl: {gpus: 8}\n")
    result = train(deployment=str(deployment))
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    message = failure.step_failure_data.error.to_string()
    assert "verl.gpus: Extra inputs are not permitted" in message
    assert "needs `dashboard`" in message
