"""The commands on skills: what they write, print and return, from `agent-evo` and from compile.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli.skills import app
from agent_evo_dagster.errors import SkillBankError, UnknownSkillError
from agent_evo_dagster.skills.bank import SkillBank
from tests.agent_evo_dagster.skills.banks import bank_at

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    return bank_at(tmp_path, "alpha", "beta")


def run(bank: SkillBank, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--bank", str(bank.path)])


def test_compiling_says_what_it_wrote_and_then_that_nothing_is_left(bank: SkillBank) -> None:
    first = run(bank, "compile", "--all")
    assert first.exit_code == 0
    assert first.output == "wrote .claude/skills/alpha/SKILL.md\nwrote .claude/skills/beta/SKILL.md\n"
    assert "2 skills are current; nothing to write" in run(bank, "compile", "--group", "rllm").output


def test_a_dry_run_writes_nothing(bank: SkillBank) -> None:
    before = sorted(bank.project.rglob("*"))
    result = run(bank, "compile", "alpha", "--dry-run")
    assert result.exit_code == 0
    assert result.output == "would write .claude/skills/alpha/SKILL.md\n"
    assert sorted(bank.project.rglob("*")) == before


def test_status_and_diff_tell_ci_whether_files_are_current(bank: SkillBank) -> None:
    assert run(bank, "status").exit_code == 3
    run(bank, "compile", "--all")
    assert run(bank, "status").exit_code == 0
    assert run(bank, "diff").exit_code == 0
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("Free text", "Loose text"))
    changed = run(bank, "diff", "alpha")
    assert changed.exit_code == 3
    assert "-Free text.\n" in changed.output
    assert "+Loose text.\n" in changed.output
    assert "stale" in run(bank, "status").output


def test_a_diff_shows_what_is_hidden_in_the_file_on_disk(bank: SkillBank) -> None:
    run(bank, "compile", "--all")
    output = bank.project / ".claude/skills/alpha/SKILL.md"
    output.write_text(output.read_text().replace("Free", "Fr\u200bee \x1b[31m[red]"))
    assert "-Fr<U+200B>ee <U+001B>[31m[red] text." in run(bank, "diff").output


@pytest.mark.parametrize("arguments", [[], ["alpha", "--all"], ["--group", "rllm", "--all"]])
def test_a_selection_must_be_one_thing(bank: SkillBank, arguments: list[str]) -> None:
    result = run(bank, "compile", *arguments)
    assert isinstance(result.exception, SkillBankError)
    assert "say which skills" in str(result.exception)


def test_unknown_names_are_refused_with_those_that_exist(bank: SkillBank) -> None:
    assert isinstance(run(bank, "compile", "omega").exception, UnknownSkillError)
    assert "it has: rllm" in str(run(bank, "compile", "--group", "x").exception)


def script(bank: SkillBank, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "skill_bank/compile.py"), *arguments, "--bank", str(bank.path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


def test_the_script_offers_the_same(bank: SkillBank) -> None:
    assert script(bank, "--status").returncode == 3
    assert script(bank, "--validate").stdout == "2 skills are valid\n"
    assert script(bank, "--all").returncode == 0
    assert script(bank, "--diff").stdout == "no difference\n"
    refused = script(bank, "omega")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("compile.py: no skill 'omega'")
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("name: alpha", "name: omega"))
    assert script(bank, "--validate").returncode == 1
