"""A worker that does not outlive the process that started it. Nothing here knows what the worker does.

The parent keeps the write end of a pipe and never writes to it. However the parent ends, the kernel closes
that end, and the worker's watching thread reads the end of the file. No polling, no process ids,
and unlike PR_SET_PDEATHSIG it does not fire when merely the *thread* that started the worker ends.
"""

import os
import signal
import sys
import threading

from agent_evo_dagster.errors import WorkerError

PARENT_FD = "AGENT_EVO_PARENT_FD"


def exit_with_parent() -> None:
    """Watch the pipe that the launcher handed over; without one (a run by hand) do nothing.

    Raises:
        WorkerError: the variable names no open descriptor, so the parent's end would go unnoticed.
    """
    text = os.environ.pop(PARENT_FD, None)  # popped: what this process starts is not the launcher's child
    if text is None:
        return
    try:
        descriptor = int(text)
        os.set_inheritable(descriptor, False)
    except (ValueError, OSError) as error:
        raise WorkerError(
            f"{PARENT_FD}={text!r} is not an open descriptor ({error}). It is set by the launcher; "
            "unset it to run a worker by hand."
        ) from error
    threading.Thread(target=_watch, args=(descriptor,), name="parent-watch", daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    print("The process that started this worker is gone: stopping.", file=sys.stderr, flush=True)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # helpers of the worker as well
    os._exit(1)
