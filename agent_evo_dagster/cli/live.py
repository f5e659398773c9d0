"""The live bar of a round that is run, on a terminal: a line for each job. It reads the files of workers.

Where standard error is no terminal, there is no bar, and the lines of the log tell the steps instead.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.rounds.progress import Progress as Seen
from agent_evo_dagster.rounds.progress import progress_of
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.pace import Pace, told
from agent_evo_dagster.training.reporting import STEPS_ARE_SHOWN

LOOK_SECONDS = 0.5
LAST_LINES_SECONDS = 2.0  # for what the ended process wrote; a process that it left may hold the pipe


@dataclass(frozen=True)
class Screen:
    """Where the process that runs a round writes its lines, and what it is told of the screen."""

    stderr: int | None = None  # a descriptor; null: this process's own standard error
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def live_bar(settings: Settings, key: str) -> Iterator[Screen]:
    """Show how far the jobs of a round are inside the block, where standard error is a terminal."""
    console = Console(stderr=True)
    if not (sys.stderr.isatty() and console.is_interactive):
        yield Screen()
        return
    read_end, write_end = os.pipe()
    reader = threading.Thread(target=_print_lines, args=(read_end, console), name="lines", daemon=True)
    stop = threading.Event()
    with _columns(console) as progress:
        looker = threading.Thread(
            target=_look, args=(settings, key, Bars(progress), stop), name="bar", daemon=True
        )
        reader.start()
        looker.start()
        try:
            yield Screen(write_end, {STEPS_ARE_SHOWN: "1"})
        finally:
            os.close(write_end)
            stop.set()
            looker.join()
            reader.join(LAST_LINES_SECONDS)


class Bars:
    """The lines of the screen, one for each job in the order in which they began."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._job: tuple[str, TaskID] | None = None
        self._phase: str | None = None
        self._pace = Pace()

    def show(self, seen: Seen, now: float) -> None:
        """Bring the screen up to date; `now` is of the monotonic clock."""
        if seen.state != "running" or seen.job is None:
            self.end()
            return
        if self._job is None or self._job[0] != seen.job:
            self.end()
            self._job = (seen.job, self._progress.add_task(seen.job, total=seen.steps, steps="", told=""))
        self._update(self._job[1], seen, now)

    def end(self) -> None:
        """The job that is shown is no longer at work; how far it came stays to be seen."""
        if self._job is None:
            return
        task = self._progress.tasks[self._progress.task_ids.index(self._job[1])]
        if task.total is None:  # one without steps is done when it ends
            self._progress.update(task.id, total=1, completed=1)
        self._progress.stop_task(task.id)
        self._job, self._phase, self._pace = None, None, Pace()

    def _update(self, task: TaskID, seen: Seen, now: float) -> None:
        step = seen.step or 0
        if seen.phase != self._phase and self._pace.seconds is None:
            self._pace = Pace()  # loading, which is no step, took the time before
        self._phase = seen.phase
        self._pace.see(step, now)
        reward = seen.metrics.get("reward")
        words = [] if reward is None else [f"reward {reward:.4g}"]
        words += told(self._pace, seen.steps if _trains(seen) else None, now)
        self._progress.update(
            task,
            description=_name(seen),
            total=seen.steps,
            completed=step,
            steps=f"{step}/{seen.steps}" if seen.steps else "",
            told=", ".join([*words, *seen.signs]),
        )

    def tell(self, what: str) -> None:
        """Say on the job's line that it cannot be followed, and why."""
        if self._job is not None:
            self._progress.update(self._job[1], told=what)


def _name(seen: Seen) -> str:
    """The phase, after its job where it does not tell that itself; ids of patches are too long for a line."""
    phase, job = seen.phase or "starting", str(seen.job).partition("-")[0]
    return phase if phase.startswith(job) else f"{job}: {phase}"


def _trains(seen: Seen) -> bool:
    """Whether there are steps to come: a policy that is saved may have stopped early."""
    return (seen.phase or "").startswith(("train", "probe"))


def _columns(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[steps]}", markup=False),
        TextColumn("{task.fields[told]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _look(settings: Settings, key: str, bars: Bars, stop: threading.Event) -> None:
    """Look again and again until the round's process has ended."""
    while not stop.wait(LOOK_SECONDS):
        try:
            bars.show(progress_of(settings, key, now=time.time()), time.monotonic())
        except (
            AgentEvoError,
            OSError,
        ) as error:  # in the way of the bar, not of the run
            bars.tell(str(error))
    bars.end()


def _print_lines(read_end: int, console: Console) -> None:
    """Print what the round's process says above the bar, as it comes."""
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            console.print(Text.from_ansi(line.rstrip("\n")), soft_wrap=True)
