"""Runs whose process is gone: told by the lock that it held, ended on record, and their pool slots freed.

A killed run goes on holding its slot of the pool `training`. The daemon frees it where one runs; a terminal
has none, and the next round would wait for ever. Runs of other commands (`dagster asset materialize`) hold no
lock of a round: such a one is gone when none of its processes lives and no job of its round is at work.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.state import RUN_LOCK
from agent_evo_dagster.training.process_group import process_lives

# What marks the runs of automation.launch, the only ones that hold such a lock.
LAUNCHED = {"agent_evo/launcher": "agent-evo"}
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_PARTITION = "dagster/partition"
# Events that a process of the run itself stores. Others may be of whoever queued or cancelled it.
_OF_THE_RUN = {dg.DagsterEventType.RUN_START, dg.DagsterEventType.STEP_START}


@contextlib.contextmanager
def running(rounds: Path, key: str) -> Iterator[None]:
    """Hold the lock of a round while it is run here, with the number of this process in it.

    Raises:
        RoundError: another process runs this round.
    """
    with _try_lock(_lock_of(rounds, key)) as held:
        if not held:
            raise RoundError(
                f"{key} is being run by another process. Wait for it to end, or stop it, then run it again."
            )
        lock = _lock_of(rounds, key)
        lock.write_text(str(os.getpid()))  # for whoever asks how the round stands, and must not lock it
        try:
            yield
        finally:
            lock.write_text("")


def end_abandoned(instance: dg.DagsterInstance, rounds: Path, own: str | None, pool: str) -> list[str]:
    """End the runs that died without a word, and give back their slots.

    Args:
        instance: Where the runs are on record.
        rounds: Folder of the rounds.
        own: Round whose lock the caller holds, before it starts a run of its own; none: it has started one.
        pool: The pool whose slots runs of other commands may hold.

    Returns:
        Ids of the runs that were ended.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=UNFINISHED, tags=LAUNCHED))
    launched = [record.dagster_run for record in records]
    gone = [run for run in launched if run.tags.get(_PARTITION, "") == own or not _alive(rounds, run)]
    gone += _gone_holders(instance, rounds, pool)
    for run in gone:
        if run.status in UNFINISHED:
            instance.report_run_failed(run, "The process of this run was ended from outside.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in gone]


def wait_for_slot(
    instance: dg.DagsterInstance, rounds: Path, pool: str, *, limit: float, pause: float = 2.0
) -> None:
    """Wait until `pool` has a free slot, for at most `limit` seconds.

    Raises:
        RoundError: it has none still.
    """
    deadline = time.monotonic() + limit
    while held := _full(instance, pool):
        if time.monotonic() > deadline:
            raise RoundError(
                f"Run {held[0]} holds the slot of {pool!r}; this one waited {limit:g} s for it. Run it again "
                f"when that one has ended; if nothing is at work there, end it: make ui."
            )
        time.sleep(pause)
        end_abandoned(instance, rounds, None, pool)


@contextlib.contextmanager
def ending_abandoned(
    instance: dg.DagsterInstance, rounds: Path, pool: str, *, pause: float = 10.0
) -> Iterator[None]:
    """End, while the block runs, what dies meanwhile: a run of the block may wait for its slot."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(pause):
            end_abandoned(instance, rounds, None, pool)

    thread = threading.Thread(target=watch, name="abandoned-runs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def holders(instance: dg.DagsterInstance, pool: str) -> list[str]:
    """Ids of the runs that hold a slot of `pool` now."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    return sorted({slot.run_id for slot in storage.get_concurrency_info(pool).claimed_slots})


def _full(instance: dg.DagsterInstance, pool: str) -> list[str]:
    """The holders of `pool` where it has no free slot; empty where it has one."""
    held = holders(instance, pool)
    if held and len(held) >= instance.event_log_storage.get_concurrency_info(pool).slot_count:
        return held
    return []


def _gone_holders(instance: dg.DagsterInstance, rounds: Path, pool: str) -> list[dg.DagsterRun]:
    """Runs of other commands, and runs that ended already, that hold a slot of `pool` without a process."""
    runs = [instance.get_run_by_id(run_id) for run_id in holders(instance, pool)]
    return [
        run
        for run in runs
        if run
        and not (run.status in UNFINISHED and LAUNCHED.items() <= run.tags.items())
        and _processes_gone(instance, run)
        and not _at_work(rounds.parent / "runs" / run.tags.get(_PARTITION, ""))
    ]


def _processes_gone(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether no process lives that is on record as one of the run; false where none is on record."""
    entries = instance.all_logs(run.run_id, of_type=_OF_THE_RUN)
    numbers = {entry.dagster_event.pid for entry in entries if entry.dagster_event} - {None}
    return bool(numbers) and not any(process_lives(number) for number in numbers if number is not None)


def _at_work(folder: Path) -> bool:
    """Whether a job of training holds its lock in the run folder of a round, in this container or another."""
    for path in folder.glob(".*.lock"):
        with _try_lock(path) as free:
            if not free:
                return True
    return False


def _alive(rounds: Path, run: dg.DagsterRun) -> bool:
    with _try_lock(_lock_of(rounds, run.tags.get(_PARTITION, ""))) as free:
        return not free


def _lock_of(rounds: Path, key: str) -> Path:
    return rounds / key / RUN_LOCK


@contextlib.contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Whether the lock at `path` was free; it is held until the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
