"""Runs one operation on copies of a project, each in a process that dies at one of its file operations.

`python -m tests.agent_evo_dagster.skills.packages.killed PROJECT OPERATION`: the n-th copy dies right before
the n-th operation on a file; the last one lives. One exit code a line.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.use import Mover, roll_back
from tests.agent_evo_dagster.skills.packages.lives import AT, freeze

# What Python tells an audit hook of before it does it.
EVENTS = {
    "open",
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
    "shutil.rmtree",
}
OPERATIONS: dict[str, Callable[[SkillBank], object]] = {
    "stable": lambda bank: freeze(bank, "stable/v2"),
    "experimental": lambda bank: freeze(bank, "experimental/maths/v2"),
    "promote": lambda bank: freeze(bank, "vertical/maths/v2", parent="experimental/maths/v1"),
    "rollback": lambda bank: roll_back(bank.path, "vertical/maths", Mover("Bob", "worse", AT)),
}


def die_at(moment: int, folder: Path) -> None:
    """Arm this process: it dies before its operation number `moment` below `folder`."""
    seen = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in EVENTS or not any(str(folder) in str(part) for part in arguments):
            return
        if event == "open" and not isinstance(arguments[2], int):
            return
        if event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return  # reading changes nothing
        if seen == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    sys.addaudithook(hook)


def main() -> None:
    project, operation = Path(sys.argv[1]), OPERATIONS[sys.argv[2]]
    for moment in range(1000):
        copy = shutil.copytree(project, project.parent / f"{moment:03d}")
        if os.fork() == 0:
            die_at(moment, copy)
            operation(SkillBank.open(copy / "bank"))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.wait()[1])
        print(code, flush=True)
        if code == 0:
            return


if __name__ == "__main__":
    main()
