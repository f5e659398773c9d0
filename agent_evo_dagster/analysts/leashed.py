"""Commands that leave nothing running: helpers end with them, all with who started them. No bounds."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from agent_evo_dagster.analysts import leash

_GRACE_SECONDS = 5.0  # for the leash to end what there is


@contextlib.contextmanager
def leashed(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator["subprocess.Popen[bytes]"]:
    """The command, started in `folder`, in a group of its own; after the block it has ended, helpers too.

    Raises:
        OSError: it cannot be started there; `filename` is the folder where that is why.
    """
    watched, held = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", leash.__file__, str(watched), *command],
            stdin=stdin, stdout=stdout, stderr=stderr, cwd=folder, start_new_session=True,
            pass_fds=(watched,), env=env,
        )  # fmt: skip
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(watched)
    try:
        yield process
    finally:
        os.close(held)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        send(process, signal.SIGKILL)
        process.wait()


def send(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Signal the group of a leashed command, if anything is left of it."""
    # ProcessLookupError: nobody is left. PermissionError: macOS says so of a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
