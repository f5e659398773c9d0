"""A program that starts another and ends it, helpers too, when whoever started this one is gone. Stdlib only.

Usage: `python -I -S leash.py FD COMMAND...`, as the leader of a process group of its own. FD is the read end
of a pipe whose write end the starter holds: however the starter ends, the kernel closes that. It ends as
COMMAND does; where COMMAND cannot be started, with NOT_STARTED.
"""

import os
import signal
import subprocess
import sys
import threading

NOT_STARTED = 127


def main() -> None:
    """Run the command to its end, or to the starter's."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    try:
        process = subprocess.Popen(sys.argv[2:])
    except OSError as error:
        print(f"{sys.argv[2]} cannot be started ({error.strerror}).", file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)
    # A handler, not SIG_IGN, which the command would inherit: it is asked to stop by itself, and waited for.
    signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()
    code = process.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
