"""A program that starts another and ends it, helpers too, when whoever started this one is gone. Stdlib only.

Usage: `python -I -S leash.py FD COMMAND...`, as the leader of a process group of its own. FD is the read end
of a pipe whose write end the starter holds: however the starter ends, the kernel closes that. It ends as
COMMAND does; where COMMAND cannot be started, with NOT_STARTED. Either way nothing that COMMAND started is
left: on Linux also what left the group, for what loses its parent there becomes a child of this program;
elsewhere what stayed in the group. It is no prison: a COMMAND that kills or stops this
program, or holds the starter's end of the pipe open through /proc, escapes it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

NOT_STARTED = 127
_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h; os has no name for it
_BETWEEN_SECONDS = 0.005
_IDLE = 100  # looks without anything that could be killed


def main() -> None:
    """Run the command to its end, or to the starter's."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        process = subprocess.Popen(sys.argv[2:])
    except OSError as error:
        print(f"{sys.argv[2]} cannot be started ({error.strerror}).", file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)
    # A handler, not SIG_IGN, which the command would inherit: it is asked to stop by itself, and waited for.
    signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()
    code = process.wait()
    _end_all()
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    _end_all()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_all() -> None:
    """Kill what descends from this process, until nothing does; what cannot be killed is left.

    What descends from it does so through a child of its own, so that none left means nothing left.
    """
    idle = 0 if sys.platform == "linux" else _IDLE
    while idle < _IDLE and _reap():
        idle = 0 if sum(map(_kill, _descendants())) else idle + 1
        time.sleep(_BETWEEN_SECONDS)


def _reap() -> bool:
    """Whether a child is left, those that ended apart."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _kill(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)
        return True
    return False


def _descendants() -> list[int]:
    """All that live below this process, as far as one look sees."""
    parents = dict(_parents())
    found: set[int] = set()
    more = {os.getpid()}
    while more:
        found |= more
        more = {process for process, parent in parents.items() if parent in found} - found
    return sorted(found - {os.getpid()})


def _parents() -> Iterator[tuple[int, int]]:
    """Each process with its parent; one whose first thread has ended looks as if it had, so those count."""
    if not os.path.isdir("/proc"):  # noqa: PTH112 (pathlib is slow to load, and this starts often)
        return
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), _stat(entry.name) as stream:
                yield int(entry.name), int(stream.read().rpartition(b")")[2].split()[1])


def _stat(process: str) -> BinaryIO:
    return open(f"/proc/{process}/stat", "rb")  # noqa: PTH123 (as above)


if __name__ == "__main__":
    main()
