"""A worker as a job of a Ray cluster: its start, its state, its log, its end. What it computes is its own.

All that goes to the cluster is a command and variables. The cluster's Python has this library installed, and
the run's folder, with the request in it, lies on a disk that the nodes share.
"""

import contextlib
import logging
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import TrainingError, WorkerError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training.backends.ray_environment import ray_environment
from agent_evo_dagster.training.lease import LEASE_FILE, LEASE_VARIABLE, renew
from agent_evo_dagster.training.process_environment import worker_environment
from agent_evo_dagster.training.request import WorkerRequest

POLL_SECONDS = 1.0
STOP_SECONDS = 30.0  # Ray itself waits three before it kills
UNHEARD_SECONDS = 60.0  # for which a job server may be away
FINAL = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
PIPES_MESSAGE = '{"__dagster_pipes_version"'  # such lines of the log are for Dagster


@dataclass
class RayJob:
    """A job that was submitted to the job server at `address`."""

    address: str
    job_id: str
    client: Any = field(repr=False)
    log: Path
    lease: Path
    _heard: float = field(default_factory=time.monotonic)

    def wait(self) -> str | None:
        """Wait for POLL_SECONDS, say that somebody waits, and look at the job.

        Raises:
            WorkerError: the job server has not answered for long.
        """
        time.sleep(POLL_SECONDS)
        renew(self.lease)
        try:
            status = self.status()
            self._read_log()
        except (OSError, RuntimeError) as error:
            if time.monotonic() - self._heard > UNHEARD_SECONDS:
                raise WorkerError(
                    f"The job server {self.address} has not answered for {UNHEARD_SECONDS:g} s ({error}): "
                    f"the state of the job {self.job_id} is not known. Is the cluster up?"
                ) from error
            return None
        self._heard = time.monotonic()
        if status not in FINAL:
            return None
        return "" if status == "SUCCEEDED" else f"the job {self.job_id} {status.lower()}: {self._told()}"

    def status(self) -> str:
        """The name of its state, as Ray has it."""
        return str(self.client.get_job_status(self.job_id).value)

    def stop(self) -> None:
        """End it, where it has not ended, and wait until it has."""
        deadline = time.monotonic() + STOP_SECONDS
        try:
            if self.status() not in FINAL:
                self.client.stop_job(self.job_id)
            while self.status() not in FINAL and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            self._read_log()
        except (OSError, RuntimeError) as error:  # its lease ends it
            logging.getLogger(__name__).warning(
                "The job %s at %s could not be stopped (%s); it stops by itself.",
                self.job_id, self.address, error,
            )  # fmt: skip

    def _read_log(self) -> None:
        lines = self.client.get_job_logs(self.job_id).splitlines(keepends=True)
        said = [line for line in lines if not line.startswith(PIPES_MESSAGE)]
        self.log.write_bytes("".join(said).encode())

    def _told(self) -> str:
        message = str(self.client.get_job_info(self.job_id).message)
        return message.splitlines()[0].split(", last available logs")[0]  # the log is told anyway


@contextlib.contextmanager
def ray_worker(
    command: Sequence[str], request: WorkerRequest, *, env: Mapping[str, str], log: Path
) -> Iterator[RayJob]:
    """`command` as a job of the cluster that the deployment names. When the block is left, it is gone.

    Args:
        command: how the cluster starts the worker.
        request: what it is to do; its deployment says where the cluster is, and what to ask it for.
        env: variables of the job.
        log: where its output is copied to.

    Raises:
        TrainingError: no job can be submitted there.
        MissingExtraError: Ray is not installed.
    """
    ray, asked = request.deployment.ray, request.deployment.ray_worker
    assert ray.dashboard is not None  # the settings ask for it with submit: job
    lease = request.run_dir / LEASE_FILE
    protection = ray_environment(ray)
    os.environ.update({name: value for name, value in protection.items() if name.startswith("RAY_")})
    submission = require("ray.job_submission", extra="ray", feature="ray.submit: job")
    renew(lease)
    variables = {
        **worker_environment(request.config.threads), **protection, **env, LEASE_VARIABLE: str(lease)
    }  # fmt: skip
    try:
        client = submission.JobSubmissionClient(ray.dashboard)
        job_id = client.submit_job(
            entrypoint=f"cd {shlex.quote(str(request.run_dir))} && exec {shlex.join(command)}",
            runtime_env={"env_vars": variables},
            entrypoint_num_cpus=asked.cpus,
            entrypoint_num_gpus=asked.gpus,
            entrypoint_resources=asked.resources or None,
        )
    except (OSError, RuntimeError) as error:
        raise TrainingError(
            f"No job can be submitted to {ray.dashboard} (ray.dashboard, ray.token_file): {error}"
        ) from error
    log.touch()
    job = RayJob(ray.dashboard, job_id, client, log, lease)
    try:
        yield job
    finally:
        job.stop()
        lease.unlink(missing_ok=True)
