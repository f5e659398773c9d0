"""A worker as a job, against a job server made of a few lines. The real one is in test_trainer_on_ray."""

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from agent_evo_dagster.errors import MissingExtraError, TrainingError, WorkerError
from agent_evo_dagster.training import ray_worker as module
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.ray_worker import ray_worker
from agent_evo_dagster.training.request import WorkerRequest
from agent_evo_dagster.training.worker_place import on_ray

RAY = {"submit": "job", "dashboard": "http://head:8265"}
DEPLOYMENT = Deployment.model_validate({"ray": RAY, "ray_worker": {"cpus": 2, "resources": {"NPU": 1}}})


class Server:
    """Answers with the states given, the last of them for ever; an error among them is raised."""

    def __init__(self, *states):
        self.states = list(states)
        self.asked = {}
        self.stopped = []

    def submit_job(self, **asked):
        if isinstance(self.states[0], Exception):
            raise self.states[0]
        self.asked = asked
        return "job-1"

    def get_job_status(self, job_id):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return SimpleNamespace(value=state)

    def get_job_logs(self, job_id):
        return 'train: step 1\n{"__dagster_pipes_version": "0.1"}\ntrain: step 2\n'

    def get_job_info(self, job_id):
        return SimpleNamespace(message="exit code 3, last available logs (truncated):\ntrain: step 1")

    def stop_job(self, job_id):
        self.stopped.append(job_id)
        self.states = ["STOPPED"]


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def start(server, deployment=DEPLOYMENT):
        fake = ModuleType("ray.job_submission")
        fake.JobSubmissionClient = lambda address: server
        monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
        monkeypatch.setitem(sys.modules, "ray.job_submission", fake)
        request = WorkerRequest(
            job="train",
            run_dir=tmp_path,
            config=TrainingConfig(),
            init_checkpoint=None,
            deployment=deployment,
        )
        return ray_worker(["py", "-m", "it's"], request, env={"TOLD": "so"}, log=tmp_path / "worker.log")

    return start


def test_a_job_is_a_command_variables_and_what_it_needs(start, tmp_path):
    server = Server("SUCCEEDED")
    with start(server):
        pass
    asked = server.asked
    assert asked.keys() == {
        "entrypoint", "runtime_env", "entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_resources"
    }  # fmt: skip
    assert asked["entrypoint"] == f"""cd {tmp_path} && exec py -m 'it'"'"'s'"""
    assert asked["runtime_env"].keys() == {"env_vars"}
    assert asked["runtime_env"]["env_vars"]["TOLD"] == "so"
    assert (asked["entrypoint_num_cpus"], asked["entrypoint_resources"]) == (2, {"NPU": 1})


def test_the_variables_of_this_machine_stay_here(start, monkeypatch):
    os.environ["ONLY_HERE"] = "secret"
    server = Server("SUCCEEDED")
    with start(server):
        pass
    assert "ONLY_HERE" not in server.asked["runtime_env"]["env_vars"]


def test_a_job_that_ends_well_leaves_its_log_without_what_was_for_dagster(start, tmp_path):
    server = Server("PENDING", "RUNNING", "SUCCEEDED")
    with start(server) as job:
        assert [job.wait(), job.wait(), job.wait()] == [None, None, ""]
    assert (tmp_path / "worker.log").read_text() == "train: step 1\ntrain: step 2\n"
    assert server.stopped == []
    assert not (tmp_path / "launcher.lease").exists()


def test_a_job_that_failed_says_how(start):
    with start(Server("FAILED")) as job:
        assert job.wait() == "the job job-1 failed: exit code 3"


def test_a_job_is_stopped_when_its_block_is_left(start):
    server = Server("RUNNING")
    with pytest.raises(KeyboardInterrupt), start(server):
        raise KeyboardInterrupt
    assert server.stopped == ["job-1"]


def test_a_job_server_may_be_away_for_a_while_and_no_longer(start, monkeypatch):
    server = Server("RUNNING", OSError("refused"), "RUNNING", OSError("refused"), "SUCCEEDED")
    with start(server) as job:
        assert [job.wait() for _ in range(4)] == [None] * 4
        monkeypatch.setattr(module, "UNHEARD_SECONDS", -1)
        server.states = [OSError("gone")]
        with pytest.raises(WorkerError, match="has not answered"):
            job.wait()


def test_a_cluster_that_takes_no_job_is_named(start):
    with pytest.raises(TrainingError, match="http://head:8265"), start(Server(RuntimeError("no agent"))):
        pass


def test_without_ray_the_line_that_installs_it_is_named(start, monkeypatch):
    block = start(Server("SUCCEEDED"))
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"agent-evo-dagster\[ray\]"), block:
        pass


def test_verl_submits_a_job_of_its_own_so_its_worker_stays_here():
    assert on_ray(DEPLOYMENT, "hf")
    assert not on_ray(DEPLOYMENT, "verl")
    assert not on_ray(Deployment(), "hf")
