"""What a training leaves behind while it runs, so that a killed one goes on: states, in a folder of the run.

A state is what the trainer saved after a step (weights, optimiser, schedule, random numbers), with the
rollouts and metrics so far. It counts only with its mark, which is written last.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.metrics import METRICS_FILE, TIMINGS_FILE, Values
from agent_evo_dagster.training.outcome import write_frame

RESUME_FOLDER = "resume"
STEPS = "checkpoint-"  # how transformers names the state after a step
_MARK = "whole"
_IDENTITY = "training.sha256"
_ROLLOUTS = "rollouts.parquet"
_LINES = (METRICS_FILE, TIMINGS_FILE)


@dataclass(frozen=True)
class State:
    """A whole state: its folder, the optimiser steps that it has, and the rollouts of these."""

    folder: Path
    step: int
    rollouts: pl.DataFrame  # ROLLOUT_SCHEMA
    steps: list[Values]  # metrics and timings of each, oldest first


class States:
    """The states of one training, which `identity` (a hash of all that decides it) tells from others."""

    def __init__(self, run_dir: Path, identity: str) -> None:
        self.folder = run_dir / RESUME_FOLDER
        self._run_dir = run_dir
        self._identity = identity

    def newest(self) -> State | None:
        """The last whole state; what is of another training, or not whole, is removed.

        The files of metrics are put back to what they were then.
        """
        mark = self.folder / _IDENTITY
        if not mark.is_file() or mark.read_text() != self._identity:
            self.clear()
            self.folder.mkdir(parents=True)
            write_atomic(mark, self._identity.encode())
        whole = [step for step, folder in self._states() if (folder / _MARK).is_file()]
        self._keep(max(whole, default=None))
        if not whole:
            return None
        folder = self.folder / f"{STEPS}{max(whole)}"
        for name in _LINES:
            shutil.copyfile(folder / name, self._run_dir / name)
        return State(folder, max(whole), pl.read_parquet(folder / _ROLLOUTS), list(_steps(folder)))

    def complete(self, step: int, rollouts: pl.DataFrame) -> None:
        """Make the state that the trainer saved after `step` count, and drop the ones before it."""
        folder = self.folder / f"{STEPS}{step}"
        write_frame(rollouts, folder / _ROLLOUTS)
        for name in _LINES:
            write_atomic(folder / name, (self._run_dir / name).read_bytes())
        write_atomic(folder / _MARK, b"")
        self._keep(step)

    def clear(self) -> None:
        """Remove all states: the run is whole, or another."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _states(self) -> Iterator[tuple[int, Path]]:
        for folder in self.folder.glob(f"{STEPS}*"):
            number = folder.name.removeprefix(STEPS)
            if number.isdecimal():
                yield int(number), folder

    def _keep(self, step: int | None) -> None:
        for number, folder in self._states():
            if number != step:
                (folder / _MARK).unlink(missing_ok=True)  # first: half a folder must not count
                shutil.rmtree(folder)


def _steps(folder: Path) -> Iterator[Values]:
    """Metrics and timings of a state, step by step."""
    files = [[json.loads(line) for line in (folder / name).read_text().splitlines()] for name in _LINES]
    for metrics, timings in zip(*files, strict=True):
        yield {**metrics["metrics"], **timings["timings"]}
