"""How a round stands: from its folder, its jobs and the record of what failed. Nothing of what it did."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.failures import StepFailure, failures_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.heartbeat import HEARTBEAT_FILE
from agent_evo_dagster.training.process_group import process_lives

State = Literal["open", "running", "failed", "idle", "complete", "waiting", "unreadable"]
_GONE: Final = "its process was interrupted or killed, or ended without a result"
_STEPS: Final = {"train": "training_run", "evaluate": "policy_evaluation", "probe": "patch_evaluation"}
RUN_LOCK = ".run.lock"  # in the folder of a round: locked while it is run, with the number of that process


@dataclass(frozen=True, slots=True)
class RoundState:
    """One look at a round."""

    state: State
    ended: Literal["complete", "waiting"] | None = None  # what its status says; null: never came to its end
    failures: tuple[StepFailure, ...] = ()  # not made since; the first one first
    job: Path | None = None  # folder of the job that is at work, or whose process is gone

    @property
    def word(self) -> str:
        """The state, and where it failed."""
        if self.state != "failed":
            return self.state
        before = f"{self.ended}; then " if self.ended else ""
        if self.failures:
            return f"{before}failed at {self.failures[0].step}"
        return f"{before}interrupted at {_step_of(self.job)}"

    @property
    def reason(self) -> str:
        """Why it failed, on one line that is fit to show; else nothing."""
        if self.state != "failed":
            return ""
        return one_line(self.failures[0].message) if self.failures else _GONE

    @property
    def told(self) -> str:
        """The state, and where and why it failed."""
        return f"{self.word}: {self.reason}" if self.reason else self.word


def state_of(settings: Settings, key: str) -> RoundState:
    """How the round stands. A round that cannot be read hides no other: it is `unreadable`."""
    try:
        return read_state(settings, key)
    except RoundError:
        return RoundState("unreadable")


def read_state(settings: Settings, key: str) -> RoundState:
    """How the round stands.

    Raises:
        RoundError: its status, or the record of what failed, cannot be read.
    """
    store, runs = RoundStore(settings.rounds), settings.runs / key
    folder, status, job = store.folder(key), store.status(key), newest_job(runs)
    ended = status.status if status else None
    failures = failures_of(folder)
    if job is not None and _at_work(job, failures):
        return RoundState("running", ended, failures, job)
    if _is_run(folder):
        return RoundState("running", ended, failures)
    if failures or job is not None:
        return RoundState("failed", ended, failures, job)
    return RoundState(ended or ("idle" if _is_begun(settings, key) else "open"), ended)


def _is_begun(settings: Settings, key: str) -> bool:
    """Whether a job of the round ended, or any of its steps was made, by whatever made it."""
    jobs, made = (settings.runs / key).glob("*"), settings.warehouse.glob(f"*/{key}.parquet")
    return any(path.is_dir() for path in jobs) or next(made, None) is not None


def newest_job(runs: Path) -> Path | None:
    """The unfinished folder of a job, in the run folder of a round, that was written to last."""
    return max(runs.glob(".*.partial-*"), key=_touched, default=None)


def job_name(folder: Path | None) -> str:
    """`train`, `evaluate` or `probe-<patch>`."""
    return "" if folder is None else folder.name[1:].rpartition(".partial-")[0]


def _step_of(folder: Path | None) -> str:
    """The step that the job belongs to, as it is named where a step fails."""
    name = job_name(folder)
    return _STEPS.get(name.partition("-")[0], name)


def _at_work(folder: Path, failures: tuple[StepFailure, ...]) -> bool:
    """Whether the process that started the job lives, and nothing failed since the job's last sign of life.

    That process runs other steps when the one of the job has failed.
    """
    last = failures[-1].at.timestamp() if failures else 0.0
    return _process_lives(folder.name.rpartition(".partial-")[2]) and _touched(folder) > last


def _is_run(folder: Path) -> bool:
    """Whether the process lives that wrote itself into the round's lock; nothing is locked to find out."""
    lock = folder / RUN_LOCK
    return lock.is_file() and _process_lives(lock.read_text("utf-8", errors="replace"))


def _process_lives(number: str) -> bool:
    told = number.isascii() and number.isdecimal() and len(number) < 10 and int(number) > 0
    return told and process_lives(int(number))


def _touched(folder: Path) -> float:
    """When a sign of life was last written; folders vanish while one looks."""
    times = [path.stat().st_mtime for path in (folder / HEARTBEAT_FILE, folder) if path.exists()]
    return max(times, default=0.0)
