"""Runs the adopt job on copies of a home, each in a process that is killed at a named moment of compiling.

`python -m tests.assets.killed_adoption HOME MOMENT...`; the copies lie beside HOME, named by the moment.
A moment is the number of files that were written before the kill, or `recorded`: all files, no record yet.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.skills import journal
from tests.assets.graph import fake_graph, only_round


def kill_at(moment: str) -> None:
    """Arm this process."""
    write = journal.write_atomic
    left = int(moment) if moment.isdigit() else -1

    def write_or_die(path: Path, data: bytes, **more: int) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        write(path, data, **more)

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if moment == "recorded":
        Ledger.record_adoption = die  # type: ignore[method-assign,assignment]
    else:
        journal.write_atomic = write_or_die


def main() -> None:
    home = Path(sys.argv[1])
    for moment in sys.argv[2:]:
        copy = shutil.copytree(home, home.parent / moment)
        if os.fork() == 0:  # nothing here has used a thread pool yet
            kill_at(moment)
            with fake_graph(copy, policy="manual", sessions=False) as graph:
                graph.run(only_round(graph), "adopt")
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)


if __name__ == "__main__":
    main()
