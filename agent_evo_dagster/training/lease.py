"""A sign that somebody still waits for a worker of another machine, where no pipe reaches. No heartbeat.

The launcher renews a file in the run's folder. A worker whose file is no longer renewed, or is gone since the
next try has cleared the folder, ends itself.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from agent_evo_dagster.files import write_atomic

LEASE_VARIABLE = "AGENT_EVO_LEASE"
LEASE_FILE = "launcher.lease"
PATIENCE_SECONDS = 120.0  # longer than a shared disk may take to show a file
LOOK_SECONDS = 1.0


def renew(lease: Path) -> None:
    """Say that the launcher is there. What the file says is of no interest, that it changes is."""
    write_atomic(lease, str(time.monotonic_ns()).encode())


def exit_without_lease(patience: float = PATIENCE_SECONDS) -> None:
    """Watch the file that the launcher named; without one (a local worker, a run by hand) do nothing."""
    name = os.environ.pop(LEASE_VARIABLE, None)  # popped: what this process starts is not the launcher's
    if name is not None:
        watch = threading.Thread(target=_watch, args=(Path(name), patience), name="lease", daemon=True)
        watch.start()


def _watch(lease: Path, patience: float) -> None:
    last, heard = b"", time.monotonic()
    while True:
        try:
            now = lease.read_bytes()
        except FileNotFoundError:
            break
        except OSError:  # a shared disk that is away for a while
            now = last
        if now != last:
            last, heard = now, time.monotonic()
        if time.monotonic() - heard > patience:
            break
        time.sleep(LOOK_SECONDS)
    print("Nobody waits for this worker any more: stopping.", file=sys.stderr, flush=True)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # helpers of the worker as well
    os._exit(1)
