"""A command that never outlives the process that started it.

`python -m agent_evo_dagster.training.guard COMMAND...`. Servers and foreign trainers know nothing of our
pipe; this process watches it for them. What the command is about is the caller's.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_evo_dagster.training.orphan import exit_with_parent

GUARD_MODULE = "agent_evo_dagster.training.guard"
NOT_STARTED = 127
SIGNALLED = 128  # added to the number of the signal that ended the command, as shells do


def guarded(command: Sequence[str]) -> list[str]:
    """`command` as a child of this module, run by this interpreter."""
    return [sys.executable, "-P", "-m", GUARD_MODULE, *command]


def main(command: Sequence[str]) -> int:
    """Run the command in this process's group; returns its exit code."""
    exit_with_parent()
    try:
        child = subprocess.Popen(command)
    except OSError as error:
        print(f"{Path(command[0])} cannot be started ({error.strerror}).", file=sys.stderr)
        return NOT_STARTED
    code = child.wait()
    return code if code >= 0 else SIGNALLED - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
