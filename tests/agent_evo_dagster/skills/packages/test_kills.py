"""A kill at any operation on a file leaves a valid registry, and doing it again finishes it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.check import check_packages
from agent_evo_dagster.skills.packages.registry import read_registry
from tests.agent_evo_dagster.skills.banks import bank_at
from tests.agent_evo_dagster.skills.packages.killed import OPERATIONS
from tests.agent_evo_dagster.skills.packages.lives import proved

ROOT = Path(__file__).parents[4]


def bytes_of(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_kill_at_any_moment_leaves_the_old_state_or_the_new(operation: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    proved(bank_at(project, "alpha"))
    before = read_registry(project / "bank")
    command = [
        sys.executable,
        "-m",
        "tests.agent_evo_dagster.skills.packages.killed",
        str(project),
        operation,
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    *killed, lived = map(int, done.stdout.split())
    assert (set(killed), lived) == ({-signal.SIGKILL}, 0), done.stderr
    assert len(killed) >= 8
    whole = tmp_path / f"{len(killed):03d}"
    expected, after = bytes_of(whole), read_registry(whole / "bank")
    for moment in range(len(killed)):
        copy = tmp_path / f"{moment:03d}"
        assert read_registry(copy / "bank") in (before, after)  # before anybody mends anything
        bank = SkillBank.open(copy / "bank")
        assert check_packages(bank.path).problems == ()
        finish(bank, operation, done=read_registry(bank.path) == after)
        assert bytes_of(copy) == expected, moment


def finish(bank: SkillBank, operation: str, *, done: bool) -> None:
    """Do again what was killed; what was done already is refused, but for a rollback, which would go back."""
    if not done:
        OPERATIONS[operation](bank)
    elif operation != "rollback":
        with pytest.raises(SkillBankError, match="exists"):
            OPERATIONS[operation](bank)
