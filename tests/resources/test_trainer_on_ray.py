"""The trainer on a real local Ray cluster, through dagster-ray. Run by `make test-ray`.

Dagster and Ray are in this Python; the worker's, which AGENT_EVO_RAY_WORKER_PYTHON names, needs neither.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.backends.ray_environment import ray_environment
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.guard import guarded
from agent_evo_dagster.training.heartbeat import read_heartbeat
from agent_evo_dagster.training.launch import run_worker
from agent_evo_dagster.training.process_group import process_group
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest
from resources.trainer import TrainerResource

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

TINY = TrainingConfig(learning_rate=1e-3, max_steps=2, prompts_per_step=4, num_generations=4)
LONG = TINY.model_copy(update={"max_steps": 5000, "save_steps": 0})


@pytest.fixture(scope="session")
def python():
    path = os.environ.get("AGENT_EVO_RAY_WORKER_PYTHON")
    if not path:
        pytest.fail("AGENT_EVO_RAY_WORKER_PYTHON is not set: run these tests with `make test-ray`")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def token(tmp_path_factory):
    """The token of the cluster below, made for it; nobody gets in without."""
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text("0123456789abcdef" * 4)
    return path


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory, token):
    """The job server of a cluster of one node on loopback."""
    root, port = tmp_path_factory.mktemp("ray"), free_port()
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    start = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={free_port()}",
        "--num-cpus=2", "--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1",
        f"--dashboard-port={port}", "--include-dashboard=true", "--object-store-memory=100000000",
        f"--dashboard-agent-listen-port={free_port()}", "--disable-usage-stats",
    ]  # fmt: skip
    with process_group(guarded(start), env=environment, cwd=root, log=root / "ray.log") as cluster:
        deadline = time.monotonic() + 120
        while not answers(port):
            assert cluster.poll() is None, (root / "ray.log").read_text()[-3000:]
            assert time.monotonic() < deadline, (root / "ray.log").read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def client(dashboard, token):
    os.environ.update(ray_environment(RaySettings(token_file=token)))  # as Ray reads it once, at its import
    from ray.job_submission import JobSubmissionClient

    client, deadline = JobSubmissionClient(dashboard), time.monotonic() + 120
    while True:  # the job server answers before there is a node that takes jobs
        try:
            client.submit_job(entrypoint="true")
            return client
        except RuntimeError as error:
            assert time.monotonic() < deadline, error
            time.sleep(1)


@pytest.fixture
def deployment(client, dashboard, token, tmp_path):
    """A cluster on whose workers nobody can import Dagster."""
    (tmp_path / "site").mkdir()
    blocked = "import sys\nfor name in ('dagster', 'dagster_ray'): sys.modules[name] = None\n"
    (tmp_path / "site/sitecustomize.py").write_text(blocked)
    ray = {"submit": "job", "dashboard": dashboard, "token_file": str(token)}
    ray["env"] = {"PYTHONPATH": str(tmp_path / "site")}
    return Deployment.model_validate({"ray": ray, "ray_worker": {"cpus": 1}})


def request_of(folder, config, deployment, job="train", **more):
    return WorkerRequest(
        job=job, run_dir=folder, config=config, init_checkpoint=None, deployment=deployment, **more
    )


def work(request, python, **more):
    return run_worker(request, python=Path(python), **{"heartbeat_timeout": 120, "time_limit": 300, **more})


def last_job(client):
    return max(client.list_jobs(), key=lambda job: job.start_time)


def test_a_training_on_the_cluster_gives_the_bytes_of_one_here(deployment, client, python, tmp_path):
    beats = []
    there = work(request_of(tmp_path / "there", TINY, deployment), python, on_poll=beats.append)
    here = work(request_of(tmp_path / "here", TINY, Deployment()), python)
    assert there.checkpoint_sha256 == here.checkpoint_sha256 == sha256_tree(tmp_path / "there/checkpoint")
    for name in ("metrics.jsonl", "rollouts.parquet"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert beats[-1].phase == "done"
    assert "train: step 2 of 2: reward" in (tmp_path / "there/worker.log").read_text()
    assert not (tmp_path / "there/launcher.lease").exists()


def test_what_goes_to_the_cluster_is_a_command_and_variables(deployment, client, python, tmp_path):
    spec = EvaluationSpec(split="dev", tasks=2, samples=1, greedy=False, seed=0)
    from agent_evo_dagster.training.policy.checkpoints import EMBEDDED

    work(
        request_of(tmp_path / "run", TINY, deployment, job="evaluate", evaluation=spec, checkpoint=EMBEDDED),
        python,
    )
    job = last_job(client)
    assert job.entrypoint.endswith(
        f"{python} -P -m agent_evo_dagster.training.worker {tmp_path}/run/REQUEST.json"
    )
    assert job.runtime_env.keys() <= {"env_vars", "_ray_commit"}
    assert not [name for name in job.runtime_env["env_vars"] if name.startswith("DAGSTER_PIPES")]


# Ray's client tells aiohttp ssl=None, and the thread that reads the log leaves its event loop open.
@pytest.mark.filterwarnings("ignore:ssl=None is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dagster_hears_of_steps_through_the_log_of_the_job(deployment, python, tmp_path):
    (tmp_path / "deployment.yaml").write_text(deployment.model_dump_json())

    @dg.asset
    def training_run(context: dg.AssetExecutionContext, trainer: TrainerResource) -> dg.MaterializeResult:
        result = trainer.run(context, request_of(tmp_path / "run", TINY, Deployment()))
        return dg.MaterializeResult(metadata={"total": result.steps})

    result = dg.materialize(
        [training_run],
        resources={"trainer": TrainerResource(python=python, deployment=str(tmp_path / "deployment.yaml"))},
        instance=dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)),
    )
    (materialization,) = result.asset_materializations_for_node("training_run")
    assert materialization.metadata["total"].value == 2
    records = [record.data for record in materialization.metadata["steps"].records]
    filed = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [each["step"] for each in records] == [1, 2]
    assert [each["reward"] for each in records] == [
        pytest.approx(each["metrics"]["reward"], rel=1e-3) for each in filed
    ]
    assert "__dagster_pipes_version" not in (tmp_path / "run/worker.log").read_text()
    gc.collect()  # of what it leaves, while the marks above hold


def test_a_job_that_fails_says_why(deployment, python, tmp_path):
    request = request_of(tmp_path / "run", TINY, deployment, job="evaluate")
    with pytest.raises(WorkerError, match=r"(?s)failed \(the job .* failed.*The request is refused"):
        work(request, python)


def test_a_cancelled_job_is_stopped(deployment, client, python, tmp_path):
    run = tmp_path / "run"

    def training() -> bool:
        beat = read_heartbeat(run)
        return beat is not None and beat.step > 0

    with pytest.raises(WorkerError, match="was cancelled in phase 'train'"):
        work(request_of(run, LONG, deployment), python, should_cancel=training)
    assert last_job(client).status.value == "STOPPED"


def test_a_job_ends_when_its_launcher_was_killed_and_the_next_try_cleared_its_folder(
    deployment, client, python, tmp_path
):
    request = request_of(tmp_path / "run", LONG, deployment)
    (tmp_path / "request.json").write_text(request.model_dump_json())
    script = textwrap.dedent("""\
        import pathlib, sys
        from agent_evo_dagster.training.launch import run_worker
        from agent_evo_dagster.training.request import WorkerRequest
        request = WorkerRequest.model_validate_json(pathlib.Path(sys.argv[1]).read_bytes())
        run_worker(request, python=pathlib.Path(sys.argv[2]), heartbeat_timeout=120, time_limit=300)
    """)
    launcher = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "request.json"), python])
    deadline = time.monotonic() + 120
    while not (tmp_path / "run/metrics.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    assert last_job(client).status.value == "RUNNING"
    (tmp_path / "run/launcher.lease").unlink()
    while last_job(client).status.value == "RUNNING":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert "Nobody waits for this worker" in client.get_job_logs(last_job(client).submission_id)
