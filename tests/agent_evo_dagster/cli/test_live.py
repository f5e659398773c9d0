"""The bar of a round on a terminal, and its absence elsewhere. The terminal is a pseudo-terminal."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from rich.console import Console

from agent_evo_dagster.cli import live, project
from agent_evo_dagster.cli.live import Bars, Screen, live_bar
from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.rounds.progress import Progress
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.reporting import STEPS_ARE_SHOWN

KEY = "round-0001"
CHILD = "import os, sys; sys.stderr.write('12:00:00  training_run  \\x1b[31mphase: load\\x1b[0m\\n')"


class Terminal:
    """A pseudo-terminal, all that was written to it, and standard error on it."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.stderr = os.fdopen(slave, "w")
        self._written = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while got := os.read(self._master, 65536):
                self._written += got
        except OSError:  # Linux says so when the last writer has closed
            pass

    def close(self) -> str:
        """All that was written, without colours."""
        self.stderr.close()
        self._thread.join(5)
        os.close(self._master)
        return re.sub(r"\x1b\[[0-9;]*m", "", self._written.decode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_INTERACTIVE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.01)
    return Terminal()


def at_work(step: int, phase: str = "train", **fields: object) -> Progress:
    return Progress(KEY, "running", "train", phase, step, 8, 1.0, {"reward": 0.4375}, **fields)  # type: ignore[arg-type]


def looks(monkeypatch: pytest.MonkeyPatch, *seen: Progress | Exception) -> Callable[[], None]:
    """What the next looks see, the last again and again; the function waits until all were seen."""
    done, left, shown = threading.Event(), list(seen), list[object]()

    def look(settings: Settings, key: str, *, now: float) -> Progress:
        if len(left) > 1:
            found = left.pop(0)
        else:
            found = left[0]
            shown.append(found)
        if len(shown) == 2:  # it was shown before it was looked at again
            done.set()
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(live, "progress_of", look)

    def wait() -> None:
        assert done.wait(10)

    return wait


def test_a_terminal_sees_a_bar_below_the_lines_of_the_process(tmp_path, terminal, monkeypatch) -> None:
    idle = Progress(KEY, "idle")
    wait = looks(monkeypatch, at_work(0, "load"), at_work(0), at_work(3), at_work(3, "save"), idle)
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    with live_bar(Settings(home=tmp_path), KEY) as screen:
        assert screen.environment == {STEPS_ARE_SHOWN: "1"}
        subprocess.run([sys.executable, "-c", CHILD], stderr=screen.stderr, check=True)
        wait()
    shown = terminal.close()
    assert "12:00:00  training_run  phase: load" in shown
    last = re.findall("train[^\r\n]*", shown)[-1]
    assert re.fullmatch(r"train: save ━.* 3/8 reward 0\.4375, \S+ s/step 0:00:0\d", last)
    assert "\x1b[2K" in shown  # drawn again in its place


def test_a_stream_that_is_no_terminal_gets_lines_and_no_bar(tmp_path, terminal, monkeypatch) -> None:
    looks(monkeypatch, WorkerError("nobody looks"))
    for stream, name in ((io.StringIO(), "xterm"), (terminal.stderr, "dumb")):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", name)
        with live_bar(Settings(home=tmp_path), KEY) as screen:
            assert screen == Screen()
    assert terminal.close() == ""


def test_files_that_cannot_be_read_are_told_and_end_nothing(tmp_path, terminal, monkeypatch) -> None:
    wait = looks(monkeypatch, at_work(2), WorkerError("heartbeat.json is not a heartbeat"), at_work(4))
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    with live_bar(Settings(home=tmp_path), KEY):
        wait()
    assert re.search(r"train ━.* 4/8", terminal.close())


def test_an_error_of_the_block_takes_the_bar_away(tmp_path, terminal, monkeypatch) -> None:
    looks(monkeypatch, at_work(2))
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    with pytest.raises(KeyboardInterrupt), live_bar(Settings(home=tmp_path), KEY):
        raise KeyboardInterrupt
    assert not {"bar", "lines"} & {thread.name for thread in threading.enumerate()}
    assert terminal.close().endswith("\x1b[?25h")  # the cursor is visible again


@pytest.mark.parametrize("job", [(), ("train_policy",)])
def test_a_round_that_is_run_has_the_bar_and_one_that_is_opened_has_none(
    tmp_path, terminal, monkeypatch, job
) -> None:
    looks(monkeypatch, at_work(2))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    seen = {}

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        seen.update(options)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(project.subprocess, "run", run)
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    assert project.launch(project.project_root(), Settings(home=tmp_path), KEY, *job) == 0
    assert (seen["stderr"] is not None, STEPS_ARE_SHOWN in seen["env"]) == (bool(job), bool(job))
    terminal.close()


@pytest.fixture
def bars() -> tuple[Bars, Callable[[], list[str]]]:
    console = Console(file=io.StringIO(), width=120)
    progress = live._columns(console)

    def lines() -> list[str]:
        with console.capture() as captured:
            console.print(progress.get_renderable())
        return [line.rstrip() for line in captured.get().splitlines()]

    return Bars(progress), lines


def test_pace_and_rest_are_of_steps_and_not_of_loading(bars) -> None:
    shown, lines = bars
    for now, seen in enumerate((at_work(0, "load"), at_work(0), at_work(1), at_work(2))):
        shown.show(seen, 10.0 * now if now < 2 else 10.0 + 4.0 * (now - 1))
    (line,) = lines()
    assert "2/8 reward 0.4375, 4 s/step, 0:24 left" in line
    shown.show(at_work(2, "save"), 30.0)  # the breaker stopped it
    assert "2/8 reward 0.4375, 4 s/step 0" in lines()[0]


def test_each_job_has_a_line_and_ended_ones_stay_where_they_ended(bars) -> None:
    shown, lines = bars
    shown.show(at_work(6), 0.0)
    shown.show(Progress(KEY, "running", "evaluate", "evaluate before", 0), 1.0)
    shown.show(Progress(KEY, "running", "probe-p-0123456789abcdef", "probe baseline seed 0", 2, 4), 2.0)
    shown.show(Progress(KEY, "running", "probe-p-0123456789abcdef", "probe candidate seed 0", 0, 4), 3.0)
    train, evaluate, probe = lines()
    assert train.startswith("train ") and " 6/8 " in train
    assert evaluate.startswith("evaluate before ")
    assert probe.startswith("probe candidate seed 0 ") and " 0/4 " in probe


def test_a_job_that_nobody_is_at_any_more_is_no_news(bars) -> None:
    shown, lines = bars
    shown.show(Progress(KEY, "failed", "train", "train", 4, 8), 0.0)
    assert lines() == []


def test_silence_and_broken_numbers_stand_beside_the_bar(bars) -> None:
    shown, lines = bars
    shown.show(Progress(KEY, "running", "train", "train", 4, 8, 90.0, {"reward": None}), 0.0)
    assert "not finite: reward, no sign of life for 90 s" in lines()[0]
