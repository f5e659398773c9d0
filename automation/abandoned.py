"""Runs whose process is gone: told by the lock that it held, ended on record, and their pool slots freed.

A killed run goes on holding its slot of the pool `training`. The daemon frees it where one runs; a terminal
has none, and the next round would wait for ever.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import RoundError

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


@contextlib.contextmanager
def running(rounds: Path, key: str) -> Iterator[None]:
    """Hold the lock of a round while it is run here.

    Raises:
        RoundError: another process runs this round.
    """
    with _try_lock(rounds, key) as held:
        if not held:
            raise RoundError(
                f"{key} is being run by another process. Wait for it to end, or stop it, then run it again."
            )
        yield


def end_abandoned(instance: dg.DagsterInstance, rounds: Path, own: str) -> list[str]:
    """End the runs that died without a word, and give back their slots; the caller holds the lock of `own`.

    Returns:
        Ids of the runs that were ended.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=UNFINISHED, tags=LAUNCHED))
    ended = []
    for run in (record.dagster_run for record in records):
        key = run.tags.get(_PARTITION, "")
        if key != own and _alive(rounds, key):
            continue
        instance.report_run_failed(run, "The process of this run was ended from outside.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        ended.append(run.run_id)
    return ended


def holders(instance: dg.DagsterInstance, pool: str) -> list[str]:
    """Ids of the runs that hold a slot of `pool` now."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    return sorted({slot.run_id for slot in storage.get_concurrency_info(pool).claimed_slots})


def _alive(rounds: Path, key: str) -> bool:
    with _try_lock(rounds, key) as free:
        return not free


@contextlib.contextmanager
def _try_lock(rounds: Path, key: str) -> Iterator[bool]:
    """Whether the lock of a round was free; it is held until the block ends."""
    path = rounds / key / ".run.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
