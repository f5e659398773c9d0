"""The real verl, in its own Python. Run by `make test-verl`; AGENT_EVO_VERL_PYTHON names that Python."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.training.backends import verl
from agent_evo_dagster.training.backends.foreign import child, follow
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.verl_files import write_files
from agent_evo_dagster.training.backends.verl_overrides import VerlFiles, overrides
from agent_evo_dagster.training.backends.verl_rows import read_rows
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.environment_choice import environment_of, rollout_limits
from agent_evo_dagster.training.launch import run_worker
from agent_evo_dagster.training.output import read_evaluation
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED, load_policy
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest
from agent_evo_dagster.training.rollout.types import Sampling

pytestmark = [pytest.mark.verl, pytest.mark.timeout(900)]

CHECKS = Path(__file__).with_name("verl_checks.py")
CONFIG = TrainingConfig(backend="verl", max_steps=2, prompts_per_step=3, num_generations=2)
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


@pytest.fixture(scope="session")
def python():
    path = os.environ.get("AGENT_EVO_VERL_PYTHON")
    if not path:
        pytest.fail("AGENT_EVO_VERL_PYTHON is not set: run these tests with `make test-verl`")
    return Path(path)


@pytest.fixture(scope="session")
def check(python):
    """Run a check inside verl's Python and give its answer."""

    def run(name, case):
        done = subprocess.run(
            [python, "-P", CHECKS, name], input=json.dumps(case), capture_output=True, text=True, check=False,
            timeout=600, env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


CASES = {
    "defaults": {"show": [f"{ACTOR}.optim.lr", f"{ACTOR}.strategy", "data.shuffle", f"{ROLLOUT}.name"]},
    "knobs": {
        "config": {
            "learning_rate": 6e-4, "beta": 0.04, "epsilon": 0.1, "epsilon_high": 0.3, "loss_type": "dr_grpo",
            "scale_rewards": "none", "gradient_checkpointing": True,
            "num_iterations": 2, "entropy_coef": 0.01, "seed": 7, "temperature": 0.8, "adam_beta2": 0.95,
        },
        "show": [
            f"{ACTOR}.optim.lr", f"{ACTOR}.use_kl_loss", f"{ACTOR}.kl_loss_coef", f"{ACTOR}.clip_ratio_low",
            f"{ACTOR}.clip_ratio_high", f"{ACTOR}.loss_agg_mode", "algorithm.norm_adv_by_std_in_grpo",
            f"{ACTOR}.ppo_epochs", f"{ACTOR}.entropy_coeff",
            f"{ROLLOUT}.temperature", f"{ACTOR}.optim.betas", "trainer.total_training_steps",
        ],
    },
    "grpo loss": {"config": {"loss_type": "grpo"}, "show": [f"{ACTOR}.loss_agg_mode"]},
    "npu": {"config": {"device": "npu"}, "verl": {"devices_per_node": 8}, "show": ["trainer.device"]},
    "cluster": {
        "verl": {"nodes": 2, "devices_per_node": 8, "rollout_tensor_parallel": 2, "strategy": "fsdp2",
                 "offload": True, "validate_every": 5},
        "ray": {"address": "head:6379", "namespace": "it's ours"},
        "variables": {"NCCL_DEBUG": "WARN", "PATHS": "/a,b:[c]"},
        "show": ["trainer.nnodes", f"{ACTOR}.fsdp_config.param_offload", "ray_kwargs.ray_init.address",
                 "ray_kwargs.ray_init.namespace", "ray_kwargs.ray_init.runtime_env.env_vars.PATHS",
                 "trainer.test_freq"],
    },
    "own ray": {"ray": {"num_cpus": 3}, "show": ["ray_kwargs.ray_init.num_cpus"]},
    "megatron": {
        "verl": {"strategy": "megatron", "devices_per_node": 4, "train_tensor_parallel": 2,
                 "train_pipeline_parallel": 2},
        "show": [f"{ACTOR}.strategy", f"{ACTOR}.megatron.tensor_model_parallel_size"],
    },
    "sglang": {"verl": {"engine": "sglang"}, "show": [f"{ROLLOUT}.name"]},
    "lora": {"config": {"lora_rank": 8, "lora_alpha": 16}, "show": ["actor_rollout_ref.model.lora_rank"]},
    "unknown name": {"more": ["actor_rollout_ref.actor.no_such_knob=1"], "show": []},
    "impossible batch": {"more": [f"{ACTOR}.ppo_mini_batch_size=1024"], "show": []},
}  # fmt: skip


@pytest.fixture(scope="session")
def composed(check):
    root = "/runs/it's a, [run]"
    return check(
        "compose", {name: {"model": str(EMBEDDED), "root": root, **each} for name, each in CASES.items()}
    )


REFUSED = ("lora", "unknown name", "impossible batch")


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_verl_composes_and_validates_what_it_is_told(composed, name):
    assert isinstance(composed[name], dict), composed[name]


def test_verl_has_the_values_that_were_asked_for(composed):
    found = composed["knobs"]
    assert found == {
        f"{ACTOR}.optim.lr": 6e-4, f"{ACTOR}.use_kl_loss": True, f"{ACTOR}.kl_loss_coef": 0.04,
        f"{ACTOR}.clip_ratio_low": 0.1, f"{ACTOR}.clip_ratio_high": 0.3,
        f"{ACTOR}.loss_agg_mode": "seq-mean-token-sum-norm", "algorithm.norm_adv_by_std_in_grpo": False,
        f"{ACTOR}.ppo_epochs": 2, f"{ACTOR}.entropy_coeff": 0.01,
        f"{ROLLOUT}.temperature": 0.8, f"{ACTOR}.optim.betas": [0.9, 0.95], "trainer.total_training_steps": 5,
    }  # fmt: skip
    assert composed["npu"] == {"trainer.device": "npu"}
    assert composed["cluster"]["ray_kwargs.ray_init.namespace"] == "it's ours"
    assert composed["cluster"]["ray_kwargs.ray_init.runtime_env.env_vars.PATHS"] == "/a,b:[c]"
    assert composed["cluster"]["trainer.test_freq"] == 5
    assert composed["megatron"][f"{ACTOR}.megatron.tensor_model_parallel_size"] == 2


def test_adapters_compose_as_far_as_verl_can_check_them_without_vllm(composed):
    """Its last check asks vLLM which ranks it can serve; every name before that was accepted."""
    found = composed["lora"]
    assert found == {"actor_rollout_ref.model.lora_rank": 8} or "vllm version None not supported" in found


def test_what_verl_refuses_is_refused_in_its_words(composed):
    assert "no_such_knob" in composed["unknown name"]
    assert "train_batch_size" in composed["impossible batch"]


@pytest.fixture
def files(tmp_path, renderer):
    found = VerlFiles(tmp_path / "verl")
    environment = environment_of(CONFIG, renderer.chat_template)
    write_files(CONFIG, VerlSettings(), environment, renderer, found)
    return found


def test_verls_dataset_has_the_tasks_in_our_order(check, files):
    tasks = environment_of(CONFIG).tasks("train", 6, CONFIG.seed)
    found = check("dataset", {"model": str(EMBEDDED), "file": str(files.train)})
    assert [row[0] for row in found] == [task.task_id for task in tasks]
    assert all(row[2] == "agent_evo" for row in found)


def test_verls_agent_loop_makes_the_rollouts_that_are_made_here(check, files, policy):
    environment = environment_of(CONFIG, policy.tokenizer.chat_template)
    tasks = environment.tasks("train", 6, CONFIG.seed)
    engine = LocalEngine(policy.model, policy.tokenizer)
    episodes = [environment.episode(task) for task in tasks]
    expected = engine.attempt(episodes, rollout_limits(CONFIG), Sampling(0.0, 0), tick=lambda: None)
    extra = [{"extra_info": {"index": 0, "task_id": task.task_id, "split": "train"}} for task in tasks]
    found = check("agent_loop", {"model": str(EMBEDDED), "file": str(files.agent_loop), "rows": extra})
    for row, trajectory, episode in zip(found, expected, episodes, strict=True):
        assert row[:3] == [list(trajectory.prompt_ids), trajectory.completion_ids, trajectory.response_mask]
        assert row[3] == pytest.approx(episode.score().reward, abs=1e-5)
    assert set(read_rows(files.rows)) == {f"u{at}_0_0" for at in range(6)}


def test_fsdp_shards_become_the_policy_that_was_sharded(check, policy, tmp_path, torch):
    case = {"model": str(EMBEDDED), "root": str(tmp_path), "port": free_port()}
    merged = load_policy(Path(check("merge", case)))
    assert sha256_file(tmp_path / "merged/tokenizer.json") == sha256_file(EMBEDDED / "tokenizer.json")
    expected = policy.model.state_dict()
    for name, weight in merged.model.state_dict().items():
        wanted = expected[name] * (1.5 if name == "model.norm.weight" else 1.0)
        assert torch.equal(weight, wanted.bfloat16().float()), name


def test_on_a_cpu_verl_starts_ray_and_says_that_it_has_no_devices(python, files, monkeypatch):
    """How far verl comes here; its own devices are what is missing, and nothing that we said to it."""
    arguments = overrides(CONFIG, VerlSettings(), RaySettings(num_cpus=8), EMBEDDED, files)
    monkeypatch.setattr(verl.sys, "executable", str(python))
    environment = {**os.environ, "VERL_FILE_LOGGER_PATH": str(files.metrics), "CUDA_VISIBLE_DEVICES": ""}
    command = verl.command_of(arguments)
    monkeypatch.setattr(verl.sys, "executable", sys.executable)
    with (
        pytest.raises(WorkerError, match="Total available GPUs 0 is less than total desired GPUs 1"),
        child(command, env=environment, cwd=files.root, log=files.log) as run,
    ):
        follow(run, files.log, poll=lambda: False, tick=lambda: None)
    assert not ray_processes(files.root)


def ray_processes(root):
    """Processes whose working folder lies below `root`."""
    deadline, found = time.monotonic() + 20, []
    while time.monotonic() < deadline:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str((process / "cwd").readlink()).startswith(str(root)):
                    found.append(process.name)
        if not found:
            break
        time.sleep(0.5)
    return found


def test_the_worker_refuses_a_run_that_this_machine_has_no_devices_for(python, tmp_path):
    deployment = Deployment(ray=RaySettings(num_cpus=8))
    request = WorkerRequest(
        job="train", run_dir=tmp_path / "run", config=CONFIG, init_checkpoint=None, deployment=deployment
    )
    with pytest.raises(WorkerError, match=r"(?s)phase 'train with verl'.*asks for 1 cuda devices a node"):
        run_worker(
            request, python=python, heartbeat_timeout=300, time_limit=600, env={"CUDA_VISIBLE_DEVICES": ""}
        )


def test_what_verl_trained_can_be_evaluated_in_its_own_python(python, policy, tmp_path):
    spec = EvaluationSpec(split="dev", tasks=20, samples=2, greedy=True, seed=1)
    request = WorkerRequest(
        job="evaluate", run_dir=tmp_path / "run", config=CONFIG, init_checkpoint=None, checkpoint=EMBEDDED,
        evaluation=spec,
    )  # fmt: skip
    run_worker(request, python=python, heartbeat_timeout=300, time_limit=600)
    greedy = read_evaluation(tmp_path / "run").filter(mode="greedy", policy="after")
    environment = environment_of(CONFIG, policy.tokenizer.chat_template)
    tasks = environment.tasks("dev", 20, 1)
    here = LocalEngine(policy.model, policy.tokenizer).attempt(
        [environment.episode(task) for task in tasks], environment.limits, Sampling(0.0, 1), tick=lambda: None
    )
    assert greedy["tokens"].to_list() == [trajectory.sampled for trajectory in here]


@pytest.fixture(scope="session")
def cluster(python, tmp_path_factory):
    """A Ray cluster of one node on loopback, with a job server; nobody gets in without its token."""
    root = tmp_path_factory.mktemp("ray")
    (root / "token").write_text("0123456789abcdef" * 4)
    (root / "wrong").write_text("fedcba9876543210" * 4)
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(root / "token")}
    port, dashboard = free_port(), free_port()
    ray = python.with_name("ray")
    environment = {**os.environ, **auth, "RAY_USAGE_STATS_ENABLED": "0"}
    start = [
        ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=2", "--node-ip-address=127.0.0.1",
        "--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}", "--include-dashboard=true",
        "--object-store-memory=100000000", "--disable-usage-stats",
    ]  # fmt: skip
    with child([str(word) for word in start], env=environment, cwd=root, log=root / "ray.log"):
        deadline = time.monotonic() + 120
        while not answers(dashboard):
            assert time.monotonic() < deadline, (root / "ray.log").read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{dashboard}", root


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_job_of_a_cluster_ends_fails_and_is_stopped_as_a_child_is(check, cluster, tmp_path):
    jobs = {
        "well": "import os; print('was told', os.environ['SAID'])",
        "badly": "print('no devices here'); raise SystemExit(3)",
        "left": "print('again')",
        "stopped": "import time; print('began', flush=True); time.sleep(300)",
    }
    address, root = cluster
    case = {"dashboard": address, "root": str(tmp_path), "ray": {"token_file": str(root / "token")}}
    found = check("ray_jobs", {**case, "jobs": jobs})
    assert found["well"][0] == "ended"
    assert "was told to the job" in found["well"][1]
    assert found["badly"][0] == "failed"
    assert "the job status FAILED" in found["badly"][1]
    assert "no devices here" in found["badly"][1]
    assert found["stopped"][0] == "stopped"
    assert (found["left"][0], found["left"][2]) == ("ended", "STOPPED")  # the job, and the one left before


def test_a_cluster_lets_nobody_in_with_another_token(check, cluster, tmp_path):
    address, root = cluster
    case = {"dashboard": address, "root": str(tmp_path), "ray": {"token_file": str(root / "wrong")}}
    found = check("ray_jobs", {**case, "jobs": {"any": "print('never')"}})
    assert found["any"][0] == "refused"
    assert "ray.token_file" in found["any"][1]
