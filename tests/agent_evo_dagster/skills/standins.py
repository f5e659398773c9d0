"""Programs that take the place of others when command lines of skills are run: another machine, a trainer."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WORKER = ROOT / "tests/automation/worker_without_model.py"
_RSYNC = '''#!{python}
"""Copies like `rsync -a`, to and from the folder that stands for HOST."""
import shutil, sys
from pathlib import Path
remote, arguments = Path({remote!r}), sys.argv[1:]
if arguments == ["--version"]:
    sys.exit(print("rsync  version 3"))
assert arguments.pop(0) == "-a", sys.argv
left_out = []
while arguments[0] == "--exclude":
    left_out.append(arguments[1])
    del arguments[:2]
def place(text):
    host, colon, path = text.partition(":")
    return remote / path if colon and host == "HOST" else Path(text)
*sources, target = arguments
for source in sources:
    goal = place(target) if source.endswith("/") else place(target) / Path(source).name
    shutil.copytree(place(source), goal, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*left_out))
'''
_SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
[ "$1" = HOST ] || {{ echo "ssh: Could not resolve hostname $1" >&2; exit 255; }}
shift
cd {remote} || exit 255
unset DAGSTER_HOME AGENT_EVO_BANK
export AGENT_EVO_HOME={remote}/agent_evo/.agent_evo PATH={there}:"$PATH"
exec sh -c "$*"
"""
_MAKE = """#!/bin/sh
[ "$1" = setup ] && mkdir -p .venv/bin && ln -sf {agent_evo} .venv/bin/agent-evo || echo "GNU Make 4"
"""


def another_machine(folder: Path) -> Path:
    """`ssh` and `rsync` that reach a machine called HOST, which is a folder; returns where they lie."""
    here, there, remote = folder / "here", folder / "there", folder / "remote"
    for one in (here, there, remote):
        one.mkdir(parents=True)
    _program(here / "ssh", _SSH.format(remote=remote, there=there))
    _program(here / "rsync", _RSYNC.format(python=sys.executable, remote=str(remote)))
    _program(
        there / "make",
        _MAKE.format(agent_evo=shutil.which("agent-evo", path=str(Path(sys.executable).parent))),
    )
    return here


def trainer(path: Path) -> Path:
    """A Python for the worker that makes the files of a run without a model."""
    _program(path, f'#!/bin/sh\nexec env PYTHONPATH={ROOT} {sys.executable} {WORKER} "$@"\n')
    return path


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
