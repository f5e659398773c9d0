"""A foreign trainer under way: a child of the worker, or a job of a Ray cluster. Not what it trains."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from agent_evo_dagster.errors import TrainingError, WorkerError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.guard import guarded
from agent_evo_dagster.training.logs import tail_of
from agent_evo_dagster.training.process_group import describe_exit, process_group

POLL_SECONDS = 1.0
FINAL = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})


class Run(Protocol):
    """Something that was started and ends by itself, or when its block is left."""

    def ended(self) -> str | None:
        """None while it runs, an empty text when it ended well, else how it ended."""
        ...


@dataclass(frozen=True)
class ForeignTrained:
    """What a foreign trainer made, in the forms that all backends share."""

    steps: int  # optimiser steps
    rollouts: pl.DataFrame  # ROLLOUT_SCHEMA; without rows where the trainer keeps none
    checkpoint: Path
    stopped_early: str | None
    backend: str  # which one made it, told by itself
    inputs: Mapping[str, object] = field(default_factory=dict)  # hashes and counts of what was read


def follow(run: Run, log: Path, *, poll: Callable[[], bool], tick: Callable[[], None]) -> bool:
    """Wait for the end; whether `poll`, which is called all the time, had it stopped instead.

    Args:
        run: what is waited for.
        log: its log; that it grows is a sign of life.
        poll: reads what is new; true: stop.
        tick: told of signs of life.

    Raises:
        WorkerError: it failed; with the end of its log.
    """
    written = -1
    while True:
        how = run.ended()
        if poll():
            return True
        if how is not None:
            break
        size = log.stat().st_size if log.is_file() else 0
        if size != written:
            written = size
            tick()
        time.sleep(POLL_SECONDS)
    if how:
        raise WorkerError(f"The trainer ended with {how}. Log: {log}; its last lines:\n{tail_of(log)}")
    return False


class _Child:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def ended(self) -> str | None:
        code = self._process.poll()
        return None if code is None else describe_exit(code) if code else ""


@contextmanager
def child(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> Iterator[Run]:
    """`command` as a process that ends with this one, and with the block."""
    with process_group(guarded(command), env=env, cwd=cwd, log=log) as process:
        yield _Child(process)


class _Job:
    def __init__(self, client: Any, job_id: str, log: Path) -> None:
        self._client = client
        self._id = job_id
        self._log = log

    def ended(self) -> str | None:
        status = _status(self._client, self._id)
        self._log.write_bytes(self._client.get_job_logs(self._id).encode())
        if status not in FINAL:
            return None
        return "" if status == "SUCCEEDED" else f"the job status {status}"


@contextmanager
def ray_job(
    command: Sequence[str], *, dashboard: str, env: Mapping[str, str], log: Path, mark: Path
) -> Iterator[Run]:
    """`command` as a job of the cluster behind `dashboard`; it is stopped when the block is left.

    Args:
        command: what runs there.
        dashboard: address of the job server.
        env: the job's, and this process's as well: what protects the cluster has to be known to both.
        log: what the job says.
        mark: names the job while it runs. A job that a killed process left there is stopped first.

    Raises:
        TrainingError: the cluster cannot be reached, or lets nobody in without its token.
    """
    os.environ.update(env)  # before Ray is imported: it reads them once
    from ray.exceptions import RayError
    from ray.job_submission import JobSubmissionClient

    try:
        client = JobSubmissionClient(dashboard)
        _stop_left(client, mark)
        job_id = client.submit_job(entrypoint=shlex.join(command), runtime_env={"env_vars": dict(env)})
    except (ConnectionError, RuntimeError, RayError) as error:
        raise TrainingError(
            f"No job can be submitted to {dashboard} (ray.dashboard, ray.token_file): {error}"
        ) from error
    write_atomic(mark, job_id.encode())
    log.touch()
    run = _Job(client, job_id, log)
    try:
        yield run
    finally:
        if run.ended() is None:
            client.stop_job(job_id)
        mark.unlink()


def _stop_left(client: Any, mark: Path) -> None:
    """Stop the job of a process that was killed: nobody follows it any more."""
    if not mark.is_file():
        return
    left = mark.read_text("utf-8")
    known = {job.submission_id for job in client.list_jobs()}
    if left in known and _status(client, left) not in FINAL:
        client.stop_job(left)
    mark.unlink()


def _status(client: Any, job_id: str) -> str:
    return str(getattr(client.get_job_status(job_id), "value", ""))
