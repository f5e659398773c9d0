"""The adapter against an installation that is a script, which leaves the files that MindSpeed-RL leaves."""

import os
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.ascend import Stack
from agent_evo_dagster.training.backends import foreign, mindspeed
from agent_evo_dagster.training.backends.mindspeed_files import MindSpeedFiles, document_of
from agent_evo_dagster.training.backends.mindspeed_metrics import LogReader
from agent_evo_dagster.training.backends.mindspeed_settings import MindSpeedSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.metrics import read_metrics
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.reporting import RunReporter

CONFIG = TrainingConfig(
    backend="mindspeed_rl", loss_type="grpo", device="npu", max_turns=1, epsilon_high=0.2, max_steps=2,
    max_new_tokens=96, beta=0.01, seed=3,
)  # fmt: skip

ENTRY = """\
import os, pathlib, sys, yaml
folder = pathlib.Path(sys.argv[1].partition("=")[2])
config = yaml.safe_load((folder / (sys.argv[2].partition("=")[2] + ".yaml")).read_text())
env = yaml.safe_load(pathlib.Path(config["rl_config"]["runtime_env_path"]).read_text())["env_vars"]
assert env["HCCL_CONNECT_TIMEOUT"] == os.environ["HCCL_CONNECT_TIMEOUT"]
assert str(pathlib.Path(__file__).parents[1]) in env["PYTHONPATH"]
with open("grpo_trainer_hybrid", "w") as log:
    for step in range(1, config["megatron_training"]["train_iters"] + 1):
        log.write(f"[2026-01-01 00:00:0{step}] iteration: {step} / 2 | grpo/rewards/mean : 0.5 | "
                  f"actor/pg_loss : 0.01 | grad_norm : 1.25 | timing/all : 9.0 | tokens/p/s : 70.5 \\n")
save = pathlib.Path(config["actor_config"]["save"])
save.mkdir()
(save / "latest_checkpointed_iteration.txt").write_text("2")
"""
CONVERT = (
    sys.executable,
    "-c",
    "import shutil, sys; shutil.copytree(*sys.argv[1:3])",
    "{base}",
    "{target}",
    "{shards}",
)


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A checkout, weights, and a machine that has what they need."""
    root = tmp_path / "MindSpeed-RL"
    for folder in ("cli", "configs/model"):
        (root / folder).mkdir(parents=True)
    (root / "cli/train_grpo.py").write_text(ENTRY)
    (root / "configs/model/qwen25_7b.yaml").write_text("qwen25_7b: {}\n")
    (tmp_path / "mcore").mkdir()
    whole = Stack("3.11.9", "2.10.0", "2.10.0.post4", "9.1.0", "0.23.0", "0.23.0")
    monkeypatch.setattr(mindspeed, "installed_stack", lambda settings: whole)
    monkeypatch.setattr(mindspeed, "find_spec", lambda name: name)
    monkeypatch.setattr(foreign, "POLL_SECONDS", 0.05)
    return MindSpeedSettings(
        repository=root, load=tmp_path / "mcore", data_path="/data/prompts", convert_command=CONVERT
    )


def train(settings, run_dir):
    run_dir.mkdir()
    deployment = Deployment(mindspeed_rl=settings)
    reporter = RunReporter(run_dir, None)
    return mindspeed.train_with_mindspeed(CONFIG, deployment, EMBEDDED, run_dir, reporter)


def test_a_run_leaves_metrics_and_a_checkpoint_in_the_form_of_every_backend(installation, tmp_path):
    trained = train(installation, tmp_path / "run")
    assert (trained.steps, trained.stopped_early) == (2, None)
    assert trained.rollouts.is_empty()
    assert (trained.checkpoint / "model.safetensors").is_file()
    metrics = read_metrics(tmp_path / "run/metrics.jsonl")
    assert dict(metrics.filter(step=2).select("name", "value").iter_rows()) == {
        "reward": 0.5, "loss": 0.01, "grad_norm": 1.25,
    }  # fmt: skip


def test_the_configuration_is_in_its_own_words(installation, tmp_path):
    document = document_of(CONFIG, installation, EMBEDDED, MindSpeedFiles(tmp_path / "run"))
    assert yaml.safe_load(yaml.safe_dump(document)) == document
    assert document["megatron_training"]["train_iters"] == 2
    assert document["megatron_training"]["tokenizer_name_or_path"] == str(EMBEDDED)
    assert document["actor_config"]["lr"] == CONFIG.learning_rate
    assert document["rl_config"]["init_kl_coef"] == 0.01
    assert document["rl_config"]["n_samples_per_prompt"] == CONFIG.num_generations
    assert document["generate_config"]["sampling_config"]["max_tokens"] == CONFIG.max_completion_length
    assert document["hydra"]["searchpath"] == [f"file://{installation.repository}/configs"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repository": None}, "repository is not set"),
        ({"repository": Path("/nowhere")}, r"has no cli/train_grpo\.py"),
        ({"model": "qwen9"}, r"has no qwen9\.yaml"),
        ({"load": Path("/nowhere")}, "no folder of weights in Megatron's layout"),
        ({"data_path": None}, "data_path is not set"),
        ({"convert_command": ()}, "convert_command is not set"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_started(installation, tmp_path, change, said):
    with pytest.raises(TrainingError, match=f"(?s)mindspeed_rl cannot be started.*{said}"):
        train(installation.model_copy(update=change), tmp_path / "run")
    assert not (tmp_path / "run/mindspeed").exists()


def test_a_machine_without_npus_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    with pytest.raises(TrainingError, match="torch_npu is not installed"):
        train(MindSpeedSettings(), tmp_path / "run")


def test_a_converter_that_fails_is_told_with_its_last_words(installation, tmp_path):
    broken = (sys.executable, "-c", "print('no such layer'); raise SystemExit(3)", "{shards}", "{target}")
    with pytest.raises(TrainingError, match=r"(?s)convert_command failed \(exit code 3\).*no such layer"):
        train(installation.model_copy(update={"convert_command": broken}), tmp_path / "run")


def test_lines_of_the_log_that_are_no_steps_are_passed_over(tmp_path):
    path = tmp_path / "log"
    path.write_text(
        "[2026-01-01] INFO sync start grpo training at iteration: 0/2 ...\n"
        "[2026-01-01] iteration: 1 / 2 | grpo/lr : 0.0001 | grad_norm : nan | device : npu:0 \n"
        "[2026-01-01] iteration: 2 / 2 | grpo/l"
    )
    reader = LogReader(path)
    (step,) = reader.new()
    assert (step.step, dict(step.metrics)) == (1, {"learning_rate": 0.0001, "grad_norm": None})
    with path.open("a") as stream:
        stream.write("r : 0.0002 | \n")
    assert [dict(each.metrics) for each in reader.new()] == [{"learning_rate": 0.0002}]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"verifier_weight": (1.0, 2.0)}, "different lengths"),
        ({"npus": 6, "tensor_parallel": 4}, "6 NPUs cannot be split into groups of 4"),
        ({"convert_command": ("convert",)}, "needs {shards} and {target}"),
        ({"model": "../../etc/passwd"}, "pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(ValidationError, match=said):
        MindSpeedSettings.model_validate(settings)


def test_its_packages_are_imported_from_the_checkout(installation, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    found = mindspeed.variables_of(Deployment(), installation.repository)
    assert found["PYTHONPATH"] == f"{installation.repository}{os.pathsep}/mine"
    assert found["RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES"] == "1"
