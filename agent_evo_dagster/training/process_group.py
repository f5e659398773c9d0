"""A child process in a group of its own, started and ended as a whole. What runs in it is not known here."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.training.orphan import PARENT_FD

GRACE_SECONDS = 5.0


@contextlib.contextmanager
def process_group(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` with its output in `log`. However the block is left, the group is then gone.

    Raises:
        WorkerError: the command cannot be started.
    """
    read_end, write_end = os.pipe()
    try:
        try:
            process = _start(command, {**env, PARENT_FD: str(read_end)}, cwd, log, read_end)
        finally:
            os.close(read_end)
        try:
            yield process
        finally:
            _end(process)
    finally:
        os.close(write_end)


def _start(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, inherited: int
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        try:
            return subprocess.Popen(
                command,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(inherited,),
            )
        except OSError as error:
            raise WorkerError(
                f"The worker's Python {command[0]!r} cannot be started ({error.strerror}). "
                "AGENT_EVO_TRAINER_PYTHON names it; it is a Python with agent-evo-dagster[hf] installed."
            ) from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to stop, wait for its leader, then kill whatever is left of it."""
    try:
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
    finally:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # ProcessLookupError: nobody is left. PermissionError: macOS says so of a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def describe_exit(code: int) -> str:
    """An exit code in words, a signal by its name."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (often the kernel, when memory has run out)" if -code == signal.SIGKILL else ""
    return f"killed by {name}{hint}"


def process_lives(pid: int) -> bool:
    """Whether a process of this number is on this machine now, whoever it belongs to."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number that is too large
        return False
    except PermissionError:
        return True
    return True
