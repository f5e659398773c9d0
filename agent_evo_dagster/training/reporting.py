"""What a worker says while it runs: heartbeat, step metrics, and Pipes messages where Dagster listens."""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.heartbeat import HEARTBEAT_FILE
from agent_evo_dagster.training.metrics import METRICS_FILE, TIMINGS_FILE, Values, append_line
from agent_evo_dagster.training.pace import Pace, told

BEAT_SECONDS = 1.0
MESSAGE_SECONDS = 10.0
# A variable of a process whose lines go to a screen that has the steps already, as a bar.
STEPS_ARE_SHOWN = "AGENT_EVO_STEPS_ARE_SHOWN"
_STEP_LINE = re.compile(r"[^:]{1,80}: step \d+(?: of \d+)?: ")


class Monitor(Protocol):
    """Whom a training loop tells that it is alive, and how a step went."""

    def tick(self) -> None:
        """Something was computed. Called often; must be cheap."""
        ...

    def step(self, step: int, metrics: Values, timings: Values) -> None:
        """An optimiser step is done."""
        ...


class Pipes(Protocol):
    """The part of a Dagster Pipes context that is used here."""

    @property
    def log(self) -> Any:
        """Logger whose lines appear in Dagster's event log."""
        ...

    def report_custom_message(self, payload: Any) -> None:
        """Send JSON to the process that started this one."""
        ...


class Heart:
    """Writes the time of the last real progress, from a thread, so that computing never waits for the disk.

    The time does not move when the work hangs: a reader sees the hang.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now: tuple[float, str, int] = (time.time(), "start", 0)
        self._written: tuple[float, str, int] | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Write the first beat and go on."""
        self._write()
        self._thread.start()

    def stop(self) -> None:
        """Write the last beat."""
        self._stop.set()
        self._thread.join()
        self._write()

    def progress(self, phase: str, step: int) -> None:
        """Something was computed."""
        self._now = (time.time(), phase, step)

    def flush(self) -> None:
        """Make the present state visible at once."""
        self._write()

    def _run(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            self._write()

    def _write(self) -> None:
        with self._lock:
            now = self._now
            if now == self._written:
                return
            at, phase, step = now
            body = json.dumps({"at": at, "phase": phase, "step": step})
            write_atomic(self._path, body.encode())
            self._written = now


class RunReporter:
    """Reports of one job: files in its run folder, and messages to Dagster."""

    def __init__(self, run_dir: Path, pipes: Pipes | None) -> None:
        self._run_dir = run_dir
        self._pipes = pipes
        self._phase = "start"
        self._step = 0
        self._steps: int | None = None
        self._pace = Pace()
        self._told = time.monotonic()
        self._heart = Heart(run_dir / HEARTBEAT_FILE)

    @contextmanager
    def beating(self) -> Iterator["RunReporter"]:
        """Keep the heartbeat file fresh inside the block."""
        self._heart.start()
        try:
            yield self
        finally:
            self._heart.stop()

    def phase(self, name: str, *, done: int | None = None, steps: int | None = None) -> None:
        """A new part of the job begins: one with `steps`, some of them `done` already, or one after them."""
        self._phase, self._steps, self._pace = name, steps, Pace()
        self._step = self._step if done is None else done
        self._pace.see(self._step, time.monotonic())
        self._heart.progress(name, self._step)
        self._heart.flush()
        self._say(f"phase: {name}", {"type": "phase", "phase": name})

    def tick(self) -> None:
        """Something was computed."""
        self._heart.progress(self._phase, self._step)
        if self._pipes and time.monotonic() - self._told > MESSAGE_SECONDS:
            self._send({"type": "heartbeat", "phase": self._phase, "step": self._step})

    def step(self, step: int, metrics: Values, timings: Values) -> None:
        """An optimiser step of the run is done: file it and tell it."""
        append_line(self._run_dir / METRICS_FILE, step, metrics)
        append_line(self._run_dir / TIMINGS_FILE, step, timings)
        self.tell_step(step, metrics)

    def tell_step(self, step: int, metrics: Values) -> None:
        """Tell a step without filing it."""
        self._step = step
        self._heart.progress(self._phase, step)
        message = {"type": "step", "phase": self._phase, "step": step, "metrics": dict(metrics)}
        self._say(self._step_line(step, metrics), message)

    def _step_line(self, step: int, metrics: Values) -> str:
        now = time.monotonic()
        self._pace.see(step, now)
        of = f" of {self._steps}" if self._steps else ""
        return f"{self._phase}: step {step}{of}: " + ", ".join(
            [*_headline(metrics), *told(self._pace, self._steps, now)]
        )

    def _say(self, line: str, message: Mapping[str, Any]) -> None:
        print(line, file=sys.stderr, flush=True)
        if self._pipes:
            self._pipes.log.info(line)
            self._send(message)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._pipes is not None
        self._pipes.report_custom_message(dict(message))
        self._told = time.monotonic()


class Unfiled:
    """A monitor for trainings that are part of a larger job: told, but not filed as the run's own steps."""

    def __init__(self, reporter: RunReporter) -> None:
        self._reporter = reporter

    def tick(self) -> None:
        """Pass the sign of life on."""
        self._reporter.tick()

    def step(self, step: int, metrics: Values, timings: Values) -> None:
        """Tell the step; timings of a part are of no interest."""
        del timings
        self._reporter.tell_step(step, metrics)


def tells_step(line: str) -> bool:
    """Whether a line of a worker's log tells a step, and no more: a reader may leave out some of them."""
    return _STEP_LINE.match(line) is not None


def _headline(metrics: Values) -> list[str]:
    shown = ("reward", "rollout/accuracy", "loss", "entropy", "grad_norm", "learning_rate")
    return [f"{name} {value:.4g}" for name in shown if (value := metrics.get(name)) is not None]
