"""How far a round is, from the files that its workers write as they go. It starts and ends nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.rounds.state import State, job_name, read_state
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.heartbeat import read_heartbeat
from agent_evo_dagster.training.launch import LOG_FILE, REQUEST_FILE
from agent_evo_dagster.training.metrics import METRICS_FILE
from agent_evo_dagster.training.request import WorkerRequest

QUIET_TOO_LONG = 60.0  # seconds without a sign of life that a person should know of

# What tells at a glance whether a run learns, in the order in which it is shown.
SHOWN = (
    "reward",
    "rollout/accuracy",
    "kl",
    "entropy",
    "grad_norm",
    "completions/clipped_ratio",
    "learning_rate",
)


@dataclass(frozen=True)
class Progress:
    """One look at a round."""

    key: str
    state: State
    job: str | None = None  # `train`, `evaluate` or `probe-<patch>`: at work, or failed
    phase: str | None = None
    step: int | None = None
    steps: int | None = None  # that the job makes
    silent: float | None = None  # seconds since its last sign of life
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # of the last step of training
    log: Path | None = None  # of the job at work, or of the one that failed
    failure: str | None = None  # where it failed and why, in one text

    @property
    def signs(self) -> tuple[str, ...]:
        """What a person must look at now."""
        wild = [name for name, value in self.metrics.items() if value is None]
        found = [f"not finite: {', '.join(wild)}"] if wild else []
        if self.silent is not None and self.silent > QUIET_TOO_LONG and self.state == "running":
            found.append(f"no sign of life for {self.silent:.0f} s")
        return tuple(found)


def progress_of(settings: Settings, key: str, *, now: float) -> Progress:
    """Look at the round; `now` is in seconds since 1970, as heartbeats are.

    Raises:
        RoundError: there is no such round, or its status cannot be read.
        WorkerError: a heartbeat that is none.
    """
    RoundStore(settings.rounds).load(key)
    found = read_state(settings, key)
    failure = found.told if found.state == "failed" else None
    if found.job is None:
        metrics = _last_step(train_dir(settings.runs, key))
        return Progress(key, found.state, metrics=metrics, failure=failure)
    return _of_job(key, found.state, found.job, now, failure)


def log_tail(log: Path, lines: int) -> list[str]:
    """The last lines of a worker's log."""
    return log.read_text("utf-8", errors="replace").splitlines()[-lines:] if log.is_file() else []


def _of_job(key: str, state: State, folder: Path, now: float, failure: str | None) -> Progress:
    """The job whose unfinished folder this is."""
    heartbeat = read_heartbeat(folder)
    return Progress(
        key,
        state,
        job=job_name(folder),
        phase=heartbeat.phase if heartbeat else None,
        step=heartbeat.step if heartbeat else None,
        steps=_steps(folder),
        silent=max(0.0, now - heartbeat.at) if heartbeat else None,
        metrics=_last_step(folder),
        log=folder / LOG_FILE,
        failure=failure,
    )


def _steps(folder: Path) -> int | None:
    """Steps that the job makes, where it trains."""
    try:
        request = WorkerRequest.model_validate_json((folder / REQUEST_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None  # not written yet, or by another version
    if request.job == "train":
        return request.config.max_steps
    return None if request.probe is None else request.probe.steps


def _last_step(folder: Path) -> dict[str, float | None]:
    """The metrics of the last whole line, those of SHOWN first; empty before the first step."""
    path = folder / METRICS_FILE
    try:
        lines = path.read_text("utf-8").split("\n")[:-1]
        metrics = dict(json.loads(lines[-1])["metrics"]) if lines else {}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise WorkerError(f"{path}, line {len(lines)} is not a step of metrics ({error}).") from error
    wild = sorted(name for name, value in metrics.items() if value is None)
    return {name: metrics[name] for name in (*SHOWN, *wild) if name in metrics}
