"""`agent-evo skills export`: what it prints and what it leaves."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from tests.agent_evo_dagster.skills.banks import bank_at


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(bank_at(tmp_path, "alpha", "beta").path)


def test_the_plugin_is_named_after_its_folder(bank: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["skills", "export", "--plugin", "out/ours", "--bank", bank])
    assert done.exit_code == 0, done.output
    assert "wrote out/ours/skills/alpha/SKILL.md\n" in done.output
    assert "2 skills, 3 files\ntry it: claude --plugin-dir out/ours\n" in done.output
    assert json.loads((tmp_path / "out/ours/.claude-plugin/plugin.json").read_text())["name"] == "ours"


def test_one_skill_with_the_capture_hooks_as_json(bank: str, tmp_path: Path) -> None:
    arguments = ["alpha", "--plugin", "out", "--name", "mine", "--hooks", "--version", "2.0.0", "--json"]
    done = CliRunner().invoke(app, ["skills", "export", *arguments, "--bank", bank])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["plugin"], told["version"], told["dry_run"]) == ("mine", "2.0.0", False)
    assert (
        told["files"]
        == sorted(told["written"])
        == [
            ".claude-plugin/plugin.json",
            "hooks/capture.py",
            "hooks/hooks.json",
            "skills/alpha/SKILL.md",
        ]
    )
    assert "${CLAUDE_PLUGIN_ROOT}/hooks/capture.py" in (tmp_path / "out/hooks/hooks.json").read_text()


def test_a_dry_run_says_what_and_writes_nothing(bank: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["skills", "export", "--plugin", "ours", "--dry-run", "--bank", bank])
    assert "would write ours/skills/beta/SKILL.md" in done.output
    assert not (tmp_path / "ours").exists()
