"""The commands on skills: what they write, print and return, from `agent-evo` and from compile.py."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli.skills import app
from agent_evo_dagster.errors import SkillBankError, UnknownSkillError
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from tests.agent_evo_dagster.skills.banks import bank_at, patch

ROOT = Path(__file__).parents[3]
OUTPUT = ".claude/skills/alpha/SKILL.md"
MORE = patch("First.\n", "More.\n")


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


def test_a_dry_run_refuses_what_the_run_would_refuse(bank: SkillBank) -> None:
    run(bank, "compile", "--all")
    output = bank.project / ".claude/skills/alpha/SKILL.md"
    output.write_text(output.read_text() + "an edit by hand\n")
    for more in ((), ("--dry-run",)):
        refused = run(bank, "compile", "alpha", *more)
        assert refused.exit_code == 1
        assert "was edited by hand" in str(refused.exception)


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


@pytest.fixture(scope="module")
def script() -> Callable[..., int]:
    """The script's `main`, loaded from where it lies."""
    spec = importlib.util.spec_from_file_location("bank_compile", ROOT / "skill_bank/compile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[[list[str]], int] = module.main
    return lambda bank, *arguments: main([*arguments, "--bank", str(bank.path)])


def test_the_script_runs_beside_any_bank(bank: SkillBank) -> None:
    command = [sys.executable, str(ROOT / "skill_bank/compile.py"), "--status", "--bank", str(bank.path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 3


def test_the_script_offers_the_same(
    bank: SkillBank, script: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        return script(bank, *arguments), capsys.readouterr().out

    assert said("--status")[0] == 3
    code, told = said("--validate")
    assert (code, told.splitlines()[-1], told.count("warning: ")) == (0, "2 skills are valid", 2)
    assert said("--all", "--dry-run") == (
        0,
        f"would write {OUTPUT}\nwould write {OUTPUT.replace('alpha', 'beta')}\n",
    )
    assert said("--all")[0] == 0
    assert said("--diff") == (0, "no difference\n")
    adopt(bank, [MORE])
    told = said("--squash", "alpha", "--dry-run")[1]
    assert "+More.\n <!-- /section:one -->" in told
    assert "would archive 1 patches of alpha" in told
    assert bank.manifest(bank.ref("alpha")).active == (MORE.id,)
    assert said("--squash", "alpha")[1].startswith("archived 1 patches of alpha; SKILL.md stays ")
    assert json.loads(said("--status", "--json")[1])["current"] is True


def test_the_script_says_why_it_refuses(
    bank: SkillBank, script: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert script(bank, "omega") == 1
    told = capsys.readouterr()
    assert (told.out, told.err.startswith("compile.py: no skill 'omega'")) == ("", True)
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("name: alpha", "name: omega"))
    assert script(bank, "--validate") == 1
    assert script(bank, "alpha", "-p", "short") == 1
    assert "has no profile 'short'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as wrong:
        script(bank, "--diff", "--squash")
    assert wrong.value.code == 2


def test_every_command_prints_one_document(bank: SkillBank) -> None:
    def document(code: int, *arguments: str) -> dict[str, object]:
        result = run(bank, *arguments, "--json")
        assert result.exit_code == code
        found = json.loads(result.output)
        assert isinstance(found, dict)
        return found

    assert document(3, "diff", "alpha")["changed"] is True
    assert document(0, "compile", "--all", "--dry-run")["written"] == [
        OUTPUT,
        OUTPUT.replace("alpha", "beta"),
    ]
    assert document(0, "compile", "--all")["warnings"] == []
    assert document(0, "diff")["changed"] is False
    skills = document(0, "status")["skills"]
    assert isinstance(skills, list)
    assert (skills[0]["state"], skills[0]["lines"], skills[0]["problem"]) == ("current", 18, None)
    checked = document(0, "validate")
    assert (checked["valid"], checked["problems"]) == (True, {})
    adopt(bank, [MORE])
    assert (
        document(0, "squash", "--all", "--dry-run")["squashed"] == document(0, "squash", "--all")["squashed"]
    )
    assert document(0, "squash", "--all")["squashed"] == []
    (bank.path / "rllm/alpha/base.md").write_text("x")
    assert document(1, "validate")["valid"] is False
    assert document(3, "status")["current"] is False


def test_a_diff_lists_what_a_reviewer_must_not_miss(bank: SkillBank) -> None:
    run(bank, "compile", "--all")
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(
        base.read_text()
        .replace("enabled: no", "enabled: no\nallowed-tools: Bash")
        .replace("Free", "`rm -rf x`")
    )
    told = run(bank, "diff", "alpha").output
    assert "look: `allowed-tools` changed: 'not set' -> 'Bash'\n" in told
    assert "look: new command: rm -rf x\n" in told


def test_colours_are_for_terminals(bank: SkillBank) -> None:
    plain = run(bank, "diff", "alpha").output
    assert "\x1b" not in plain
    coloured = CliRunner(env={"FORCE_COLOR": "1", "TERM": "xterm-256color"}).invoke(
        app, ["diff", "alpha", "--bank", str(bank.path)], color=True
    )
    assert "\x1b[32m+First." in coloured.output


def test_a_long_skill_is_written_with_a_warning(bank: SkillBank) -> None:
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("Free", "word " * 6_000))
    result = run(bank, "compile", "alpha")
    assert result.exit_code == 0
    assert "warning: alpha: about 6,0" in result.output
