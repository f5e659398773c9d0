import json
import os
import shutil
import subprocess
import sys

import pytest
from dagster_pipes import DAGSTER_PIPES_CONTEXT_ENV_VAR, DAGSTER_PIPES_MESSAGES_ENV_VAR, encode_param

from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.heartbeat import read_heartbeat
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult

TINY = TrainingConfig(learning_rate=1e-3, max_steps=2, prompts_per_step=4, num_generations=4)


def work(*arguments, **environment):
    command = [sys.executable, "-m", "agent_evo_dagster.training.worker", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def train(folder, config=TINY, init=None, **environment):
    folder.mkdir(exist_ok=True)
    request = WorkerRequest(job="train", run_dir=folder / "run", config=config, init_checkpoint=init)
    (folder / "REQUEST.json").write_text(request.model_dump_json())
    return work(folder / "REQUEST.json", **environment)


def pipes_environment(messages):
    context = {"asset_keys": ["training_run"], "run_id": "r", "job_name": None, "retry_number": 0}
    missing = ["code_version_by_asset_key", "provenance_by_asset_key", "partition_key"]
    missing += ["partition_key_range", "partition_time_window"]
    return {
        DAGSTER_PIPES_CONTEXT_ENV_VAR: encode_param(
            {"data": {**context, **dict.fromkeys(missing), "extras": {}}}
        ),
        DAGSTER_PIPES_MESSAGES_ENV_VAR: encode_param({"path": str(messages)}),
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory, torch):
    """The same training twice, once on its own and once as Dagster's child."""
    pytest.importorskip("trl", reason="the extra hf is not installed")
    alone, child = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("child")
    done = [train(alone), train(child, **pipes_environment(child / "messages"))]
    assert [process.returncode for process in done] == [0, 0], done[0].stderr + done[1].stderr
    return alone, child


def test_the_same_request_gives_the_same_bytes(runs):
    one, two = (folder / "run" for folder in runs)
    for name in ("metrics.jsonl", "rollouts.parquet"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    assert sha256_tree(one / "checkpoint") == sha256_tree(two / "checkpoint")


def test_the_result_says_what_was_made(runs):
    result = WorkerResult.model_validate_json((runs[0] / "run" / "result.json").read_bytes())
    assert result.steps == 2
    assert result.checkpoint_sha256 == sha256_tree(runs[0] / "run" / "checkpoint")
    assert {"torch", "trl", "transformers", "python"} <= result.packages.keys()
    assert result.peak_memory_bytes < 2 * 2**30
    assert read_heartbeat(runs[0] / "run").phase == "done"


def test_dagster_hears_of_phases_and_steps_while_they_happen(runs):
    lines = [json.loads(line) for line in (runs[1] / "messages").read_text().splitlines()]
    told = [line["params"]["payload"] for line in lines if line["method"] == "report_custom_message"]
    assert [each["phase"] for each in told if each["type"] == "phase"] == ["load", "train", "save", "done"]
    steps = [each for each in told if each["type"] == "step"]
    filed = [json.loads(line) for line in (runs[1] / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(each["step"], each["metrics"]) for each in steps] == [
        (each["step"], each["metrics"]) for each in filed
    ]
    assert any("train: step 2 of 2: reward" in json.dumps(line) for line in lines if line["method"] == "log")


def test_a_failure_leaves_a_traceback_and_a_code_and_no_result(tmp_path, torch):
    shutil.copytree(EMBEDDED, tmp_path / "damaged")
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"not weights")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "result.json").write_text("of an earlier try")
    done = train(tmp_path, init=tmp_path / "damaged")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert not (tmp_path / "run" / "result.json").exists()
    assert read_heartbeat(tmp_path / "run").phase == "load"


@pytest.mark.parametrize("package", ["torch", "trl"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(tmp_path, package):
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules[{package!r}] = None")
    done = train(tmp_path / "run", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert f"needs the package {package!r}" in done.stderr
    assert "pip install 'agent-evo-dagster[hf]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_request_that_cannot_be_read_is_refused(tmp_path):
    done = work(tmp_path / "missing.json")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_request_is_refused():
    assert work().returncode == 2


def test_a_field_that_is_unknown_is_refused_by_name(tmp_path):
    body = {"job": "train", "run_dir": str(tmp_path), "config": {"learning_rat": 1}, "init_checkpoint": None}
    (tmp_path / "r.json").write_text(json.dumps(body))
    done = work(tmp_path / "r.json")
    assert done.returncode == 2
    assert "learning_rat" in done.stderr


def test_a_missing_checkpoint_is_refused_before_anything_is_loaded(tmp_path):
    done = train(tmp_path, init=tmp_path / "nowhere")
    assert done.returncode == 2
    assert "No policy can be loaded" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rounds_with_better_settings_climb_and_the_control_stays(tmp_path, torch):
    from agent_evo_dagster.training.engines import LocalEngine
    from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
    from agent_evo_dagster.training.evaluate import evaluate
    from agent_evo_dagster.training.policy.checkpoints import load_policy
    from agent_evo_dagster.training.request import EvaluationSpec
    from agent_evo_dagster.training.tool_calls.hermes import HermesFormat

    spec = EvaluationSpec(split="report", tasks=200, samples=2, greedy=False, seed=0)
    environment = ArithmeticEnvironment(HermesFormat())

    def accuracy(checkpoint):
        policy = load_policy(checkpoint)
        engine = LocalEngine(policy.model, policy.tokenizer)
        frame = evaluate(engine, environment, spec, name="x", seed=0, tick=lambda: None)
        return frame["correct"].mean()

    found, checkpoint = [accuracy(None)], None
    for number, rate in enumerate((2e-5, 1e-4, 5e-4)):
        config = TrainingConfig(learning_rate=rate, seed=number)
        assert train(tmp_path / str(number), config, checkpoint).returncode == 0
        checkpoint = tmp_path / str(number) / "run" / "checkpoint"
        found.append(accuracy(checkpoint))
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.4
    assert train(tmp_path / "control", TrainingConfig(learning_rate=0, max_steps=2)).returncode == 0
    assert accuracy(tmp_path / "control" / "run" / "checkpoint") == found[0]
