"""Whether a task was done: files laid out, a command run on what was left, an answer compared. No reader."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.rollouts.tasks import Check

_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below `folder`, over whatever stands there.

    Raises:
        TaskError: a link leads out of the folder.
    """
    for name, text in files.items():
        path = folder / name
        for part in (path, *path.parents):
            if part == folder:
                break
            if part.is_symlink() or (part.exists() and part.is_dir() == (part == path)):
                raise TaskError(f"{name} cannot be laid out: {part.relative_to(folder)} is in its way.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def passes(check: Check, folder: Path, home: Path) -> bool:
    """Whether the check ends in time with its status; `home` is the home and folder of temporary files."""
    try:
        lay_out(folder, check.files)
    except TaskError:
        return False  # what was left is in the way of the check, and was not asked for
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = subprocess.Popen(
        ["/bin/sh", "-c", check.command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
        env={**environment, "HOME": str(home), "TMPDIR": str(home)},
    )  # fmt: skip
    try:
        return process.wait(check.seconds) == check.exit
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(said: str, expected: str) -> bool:
    """Whether the last line of what was said is the expected answer; marks of emphasis do not count."""
    lines = filter(None, map(_bare, reversed(said.splitlines())))
    return next(lines, "") == _bare(expected)


def _bare(line: str) -> str:
    return " ".join(line.strip(" \t\r*_`\"'").split())
