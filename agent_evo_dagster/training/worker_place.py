"""Where a worker runs: a process of this machine, or a job of a Ray cluster. Watching it is launch's."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.process_environment import training_environment
from agent_evo_dagster.training.process_group import describe_exit, process_group
from agent_evo_dagster.training.ray_worker import RayJob, ray_worker
from agent_evo_dagster.training.request import WorkerRequest

WORKER_MODULE = "agent_evo_dagster.training.worker"
POLL_SECONDS = 0.2
OnJob = Callable[[RayJob], None]


class Worker(Protocol):
    """A worker that was started, and is gone when its block is left."""

    def wait(self) -> str | None:
        """Wait a moment: None while it runs, an empty text when it ended well, else how it ended."""
        ...


@dataclass(frozen=True)
class LocalWorker:
    """A process of this machine."""

    process: "subprocess.Popen[bytes]"

    def wait(self) -> str | None:
        """Wait for up to POLL_SECONDS."""
        try:
            code = self.process.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        return describe_exit(code) if code else ""


def on_ray(deployment: Deployment, backend: str) -> bool:
    """Whether the worker is a job of a cluster: there, verl is one of its own, and its worker stays here."""
    return backend == "hf" and deployment.ray.submit == "job"


@contextlib.contextmanager
def started(
    request: WorkerRequest,
    request_file: Path,
    *,
    python: Path | None,
    env: Mapping[str, str],
    log: Path,
    on_job: OnJob | None = None,
) -> Iterator[Worker]:
    """The worker of `request`.

    Args:
        request: the job.
        request_file: where it is written.
        python: interpreter of the worker; none: this one.
        env: variables on top of those that every worker has.
        log: where its output goes.
        on_job: told of the job that the worker is, where it is one.

    Raises:
        WorkerError: it cannot be started.
        TrainingError: the cluster takes no job.
    """
    command = [str(python or sys.executable), "-P", "-m", WORKER_MODULE, str(request_file)]
    variables = {"PYTHONUNBUFFERED": "1", **env}  # the log's tail is all that a killed worker leaves
    if on_ray(request.deployment, request.config.backend):
        with ray_worker(command, request, env=variables, log=log) as job:
            if on_job:
                on_job(job)
            yield job
        return
    everything = {**training_environment(request.config.threads), **variables}
    # stray relative paths of the backend stay in the run folder
    with process_group(command, env=everything, cwd=request.run_dir, log=log) as process:
        yield LocalWorker(process)
