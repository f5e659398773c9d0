"""`agent-evo init`: a bank in a project of one's own, made once, never overwritten."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.cli.main import main
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

Cli = Callable[..., tuple[int, str, str]]
SKILL = '---\nname: {}\ndescription: "Says."\n---\n\n# Title\n\n## First\nThis.\n\n## Second\nThat.'


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Commands in a project with two skills."""
    for name in ("AGENT_EVO_BANK", "AGENT_EVO_HOME", "AGENT_EVO_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / ".claude" / "skills" / name).mkdir(parents=True)
        (tmp_path / ".claude" / "skills" / name / "SKILL.md").write_text(SKILL.format(name))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["agent-evo", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_shipped_bank_is_copied_and_the_next_steps_are_told(cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli("init", "my bank")
    assert code == 0
    assert "made my bank: " in out
    assert "  export AGENT_EVO_BANK=\"$PWD\"/'my bank'" in out
    made, shipped = SkillBank.open(tmp_path / "my bank"), SkillBank.open(DEFAULT_BANK)
    assert made.content() == shipped.content()
    assert (made.path / ".gitignore").read_bytes() == (DEFAULT_BANK / ".gitignore").read_bytes()


def test_skills_of_a_project_are_taken_as_they_are(cli: Cli, tmp_path: Path) -> None:
    before = files(tmp_path)
    code, out, _ = cli("init", "--from", ".claude/skills", "--group", "team")
    assert code == 0
    assert "made skill_bank: 2 skills in team" in out
    assert "first, second" in out
    after = files(tmp_path)
    assert {name: after[name] for name in before} == before
    bank = SkillBank.open(tmp_path / "skill_bank")
    assert [skill.text for skill in compile_all(bank)] == [SKILL.format("one"), SKILL.format("two")]
    assert cli("skills", "status", "--bank", "skill_bank")[0] == 0
    assert "2 skills are current" in cli("skills", "compile", "--all", "--bank", "skill_bank")[1]


def test_making_it_again_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    cli("init", "--from", ".claude/skills")
    before = files(tmp_path)
    for arguments in (["init"], ["init", "--from", ".claude/skills"], ["init", "--dry-run"]):
        code, out, _ = cli(*arguments)
        assert (code, "2 skills; nothing was changed" in out) == (0, True)
    assert files(tmp_path) == before


def test_a_bank_that_lacks_what_is_asked_for_is_not_touched(cli: Cli, tmp_path: Path) -> None:
    cli("init", "--from", ".claude/skills", "--skip", "two")
    before = files(tmp_path)
    code, _, err = cli("init", "--from", ".claude/skills")
    assert code == 1
    assert "exists and does not have two; nothing was changed" in err
    assert files(tmp_path) == before


def test_a_dry_run_shows_the_sections_and_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    before = files(tmp_path)
    code, out, _ = cli("init", "--from", ".claude/skills", "--dry-run")
    assert (code, "first, second" in out, "would make skill_bank" in out) == (0, True, True)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "nowhere"], "there is no such folder"),
        (["--from", ".claude"], "it has: no folder with a SKILL.md"),
        (["--from", ".claude/skills", "--group", "No Name"], "--group 'No Name'"),
        ([".claude"], "no skill bank at"),
        ([".claude/skills/one/SKILL.md"], "no skill bank at"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    cli: Cli, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = files(tmp_path)
    code, _, err = cli("init", *arguments)
    assert (code, message in err) == (1, True), err
    assert files(tmp_path) == before
