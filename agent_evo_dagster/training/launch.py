"""Starting a worker, watching it, and putting its folder in place when it is whole.

What a worker computes is in worker; what a job means is the caller's.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from agent_evo_dagster.errors import TrainingError, WorkerError
from agent_evo_dagster.files import replace_tree, write_atomic
from agent_evo_dagster.training.heartbeat import HEARTBEAT_FILE, Heartbeat, read_heartbeat
from agent_evo_dagster.training.logs import tail_of
from agent_evo_dagster.training.own_files import located_config
from agent_evo_dagster.training.process_group import process_lives
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult
from agent_evo_dagster.training.states import RESUME_FOLDER
from agent_evo_dagster.training.worker_place import OnJob, Worker, started

REQUEST_FILE = "REQUEST.json"
RESULT_FILE = "result.json"
LOG_FILE = "worker.log"


def run_worker(
    request: WorkerRequest,
    *,
    python: Path | None,
    env: Mapping[str, str] = {},
    heartbeat_timeout: float,
    time_limit: float,
    on_poll: Callable[[Heartbeat], None] | None = None,
    should_cancel: Callable[[], bool] | None = None,
    on_job: OnJob | None = None,
) -> WorkerResult:
    """Run one job in a process of its own, or as a job of a Ray cluster, and wait for its result.

    Args:
        request: The job; relative paths in it are taken from the current folder.
        python: Interpreter of the backend; none: this one.
        env: Variables on top of this process's own.
        heartbeat_timeout: Seconds without a new heartbeat after which the worker counts as hung.
        time_limit: Seconds that the whole job may take.
        on_poll: Called with every new heartbeat.
        should_cancel: Asked at every poll; true ends the job.
        on_job: Told of the Ray job that the worker is, where it is one.

    Raises:
        WorkerError: it failed, hung, ran out of time, was cancelled, or left no result.
        TrainingError: the Ray cluster takes no job.
    """
    request = _absolute(request)
    request.run_dir.mkdir(parents=True, exist_ok=True)
    for name in (RESULT_FILE, HEARTBEAT_FILE):  # of an earlier try in the same folder
        (request.run_dir / name).unlink(missing_ok=True)
    request_file = request.run_dir / REQUEST_FILE
    write_atomic(request_file, request.model_dump_json(indent=2).encode())
    watch = _Watch(request.run_dir, heartbeat_timeout, time_limit, on_poll, should_cancel)
    log = request.run_dir / LOG_FILE
    with started(request, request_file, python=python, env=env, log=log, on_job=on_job) as worker:
        how = watch.until_end(worker)
    return _result(request, watch, how)


@contextlib.contextmanager
def staged_run(target: Path) -> Iterator[Path]:
    """Yield a folder beside `target` that takes its place when the block ends well.

    It is empty but for the states of a training that an earlier try left. After a failure it stays, for its
    log and states, until the next try; what dead processes left of other targets beside this one goes as
    well, since nobody may ever try those again.

    Raises:
        TrainingError: another process is at work on the same target.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TrainingError(
                f"Another process is producing {target}. Wait for it to end, or cancel its run."
            ) from error
        carried = _carry_states(target)
        _clear_leftovers(target)  # whoever left them is dead: the lock was free
        _clear_dead_neighbours(target)
        staging = target.parent / f".{target.name}.partial-{os.getpid()}"
        staging.mkdir()
        if carried.is_dir():
            carried.replace(staging / RESUME_FOLDER)
        yield staging
        replace_tree(staging, target)


def _carry_states(target: Path) -> Path:
    """Put aside the states of the last try, where it left any; returns where they are then."""
    carried = target.parent / f".{target.name}.{RESUME_FOLDER}"
    for states in target.parent.glob(f".{target.name}.partial-*/{RESUME_FOLDER}"):
        shutil.rmtree(carried, ignore_errors=True)
        states.replace(carried)
    return carried


def _clear_leftovers(target: Path) -> None:
    for retired in target.parent.glob(f".{target.name}.old-*"):
        if not target.exists() and (retired / "tree").is_dir():
            (retired / "tree").replace(target)  # killed between taking away the old and placing the new
        shutil.rmtree(retired)
    for partial in target.parent.glob(f".{target.name}.partial-*"):
        shutil.rmtree(partial)


def _clear_dead_neighbours(target: Path) -> None:
    """Clear what killed processes left of other targets in the same folder."""
    for partial in target.parent.glob(".*.partial-*"):
        name, _, process = partial.name[1:].rpartition(".partial-")
        if name == target.name or not process.isdecimal() or process_lives(int(process)):
            continue
        # A number means nothing for a process of another container; that one holds the lock.
        lock = target.parent / f".{name}.lock"
        with lock.open("ab") as held, contextlib.suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _clear_leftovers(target.parent / name)


def _absolute(request: WorkerRequest) -> WorkerRequest:
    paths = {name: getattr(request, name) for name in ("run_dir", "init_checkpoint", "checkpoint")}
    changed: dict[str, object] = {name: path and path.absolute() for name, path in paths.items()}
    changed["config"] = located_config(request.config, Path.cwd())
    if request.probe is not None:
        candidate = located_config(request.probe.candidate, Path.cwd())
        changed["probe"] = request.probe.model_copy(update={"candidate": candidate})
    return request.model_copy(update=changed)


@dataclass
class _Watch:
    """What is known of a running worker. Silence is timed by this process's own monotonic clock."""

    run_dir: Path
    heartbeat_timeout: float
    time_limit: float
    on_poll: Callable[[Heartbeat], None] | None
    should_cancel: Callable[[], bool] | None
    started: float = field(default_factory=time.monotonic)
    last: Heartbeat | None = None
    heard: float = field(default_factory=time.monotonic)

    def until_end(self, worker: Worker) -> str:
        """How it ended; empty: well."""
        while True:
            how = worker.wait()
            self._listen()
            if how is not None:
                return how
            self._check()

    def _listen(self) -> None:
        heartbeat = read_heartbeat(self.run_dir)
        if heartbeat is None or heartbeat == self.last:
            return
        self.last, self.heard = heartbeat, time.monotonic()
        if self.on_poll:
            self.on_poll(heartbeat)

    def _check(self) -> None:
        now = time.monotonic()
        if self.should_cancel and self.should_cancel():
            raise self.failure("was cancelled", "Start it again when it should run.")
        if now - self.started > self.time_limit:
            advice = "Raise the time limit, or ask for less."
            raise self.failure(f"exceeded its time limit of {self.time_limit:g} s", advice)
        if now - self.heard > self.heartbeat_timeout:
            advice = (
                "It hangs, or one phase is longer than the heartbeat timeout: raise that, or see the log."
            )
            raise self.failure(f"gave no sign of life for {self.heartbeat_timeout:g} s", advice)

    def failure(self, what: str, advice: str) -> WorkerError:
        where = (
            f"in phase {self.last.phase!r}, step {self.last.step}" if self.last else "before its first phase"
        )
        log = self.run_dir / LOG_FILE
        tail = tail_of(log) or "(empty)"
        return WorkerError(
            f"The training worker {what} {where}. {advice}\nLog: {log}; its last lines:\n{tail}"
        )


def _result(request: WorkerRequest, watch: _Watch, how: str) -> WorkerResult:
    if how:
        raise watch.failure(f"failed ({how})", "Correct what the log names, then run it again.")
    path = request.run_dir / RESULT_FILE
    try:
        result = WorkerResult.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise watch.failure(f"ended well but without {RESULT_FILE}", "Run it again.") from error
    except ValidationError as error:
        advice = "Does the worker's Python have the same version of agent-evo-dagster?"
        raise watch.failure(f"left a {RESULT_FILE} that cannot be read ({error})", advice) from error
    if result.backends != request.backends:
        told, asked = (", ".join(names) or "nobody" for names in (result.backends, request.backends))
        advice = "Nothing that it made is taken. Is its Python's agent-evo-dagster of this version?"
        raise watch.failure(f"was asked to train with {asked}, and says that {told} trained", advice)
    return result
