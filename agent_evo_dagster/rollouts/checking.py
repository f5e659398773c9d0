"""Whether a task was done: files laid out, a command run on what was left, an answer compared. No reader."""

import contextlib
import errno
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent_evo_dagster.analysts.leashed import leashed
from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.rollouts.tasks import Check, bare

_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# How a folder fails that is gone, locked, or none.
_LEFT = (PermissionError, FileNotFoundError, NotADirectoryError)


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below `folder`, each as a new one, in the place of a file that stands there.

    No link is followed and nothing is written to but what is new, whatever was left there.

    Raises:
        TaskError: something else than a file, or than a folder on the way to it, is in its place.
    """
    root = os.open(folder, _FOLDER)
    try:
        for name, text in files.items():
            _lay(root, name, text.encode())
    finally:
        os.close(root)


def _lay(root: int, name: str, data: bytes) -> None:
    *folders, last = name.split("/")
    with contextlib.ExitStack() as stack:
        place = root
        for number, part in enumerate(folders, 1):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=place)
            try:
                place = os.open(part, _FOLDER, dir_fd=place)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    raise _in_the_way(name, "/".join(folders[:number])) from None
                raise
            stack.callback(os.close, place)
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(last, dir_fd=place, follow_symlinks=False).st_mode):
                raise _in_the_way(name, name)
            os.unlink(last, dir_fd=place)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(last, flags, 0o644, dir_fd=place), "wb") as stream:
            stream.write(data)


def _in_the_way(name: str, place: str) -> TaskError:
    return TaskError(f"{name} cannot be laid out: {place} is in its way.")


def passes(check: Check, folder: Path, home: Path) -> bool:
    """Whether the check ends in time with its status; `home` is the home and folder of temporary files.

    What was left decides alone: a folder that is gone or locked, or something in the way of the check's
    files, is a task that was not done. Nothing that the check started is left (see analysts.leash).
    """
    try:
        lay_out(folder, check.files)
    except (TaskError, *_LEFT):
        return False  # what was left is in the way of the check, and was not asked for
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"HOME": str(home), "TMPDIR": str(home)}
    try:
        with leashed(["/bin/sh", "-c", check.command], folder=folder, env=environment) as process:
            return process.wait(check.seconds) == check.exit
    except subprocess.TimeoutExpired:
        return False
    except _LEFT as error:
        if error.filename != str(folder):
            raise
        return False


def answers(said: str, expected: str) -> bool:
    """Whether the last line of what was said is the expected answer; marks of emphasis do not count."""
    lines = filter(None, map(bare, reversed(said.splitlines())))
    return next(lines, None) == bare(expected)
