"""The guard ends what it started when its own parent ends, however that happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from agent_evo_dagster.training.guard import NOT_STARTED, guarded
from agent_evo_dagster.training.process_group import process_group

PARENT = """\
import pathlib, sys, time
from agent_evo_dagster.training.guard import guarded
from agent_evo_dagster.training.process_group import process_group
import os
work, command = pathlib.Path(sys.argv[1]), guarded([sys.executable, "-c", sys.argv[2]])
with process_group(command, env=dict(os.environ), cwd=work, log=work / "log"):
    time.sleep(60)
"""
CHILD = "import os, pathlib, time; pathlib.Path('pid').write_text(f'{os.getpid()}\\n'); time.sleep(60)"


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def test_a_killed_parent_takes_the_guarded_command_with_it(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), CHILD])
    try:
        assert wait_for(lambda: written(tmp_path / "pid"))
        pid = int((tmp_path / "pid").read_text())
        assert alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        assert wait_for(lambda: not alive(pid))
    finally:
        parent.kill()
        parent.wait()


def code_of(tmp_path: Path, *command: str) -> int:
    with process_group(guarded(command), env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log") as process:
        return process.wait(30)


def test_the_exit_code_is_the_commands(tmp_path):
    assert code_of(tmp_path, sys.executable, "-c", "raise SystemExit(7)") == 7


def test_a_command_that_was_killed_is_told_as_shells_do(tmp_path):
    assert code_of(tmp_path, sys.executable, "-c", "import os; os.kill(os.getpid(), 9)") == 128 + 9


def test_a_command_that_is_not_there_is_named(tmp_path):
    assert code_of(tmp_path, str(tmp_path / "nowhere")) == NOT_STARTED
    assert "nowhere cannot be started (No such file or directory)" in (tmp_path / "log").read_text()
