"""The page on the skill bank can be followed as it stands, from an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_evo_dagster.patches.fences import scan
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.manifest import Manifest
from agent_evo_dagster.skills.packages.registry import read_registry
from agent_evo_dagster.skills.validation import validate
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

PAGE = Path(__file__).parents[3] / "docs" / "skill-bank.md"


@pytest.mark.docs
@pytest.mark.timeout(600)  # two dozen processes
def test_every_command_of_the_page_runs_in_an_empty_folder(tmp_path: Path) -> None:
    lines = [line.text for line in scan(PAGE.read_text()) if line.part == "code" and line.info == "sh"]
    environment = {
        key: value for key, value in os.environ.items() if key not in ("AGENT_EVO_HOME", "AGENT_EVO_BANK")
    }
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    script = "set -euo pipefail\n" + "".join(lines)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    bank = SkillBank.open(tmp_path / "skill_bank")
    assert validate(bank).problems == {}
    text = (tmp_path / ".claude/skills/take-notes/SKILL.md").read_text()
    assert "Write open questions at the end" in text
    assert "everyone who was there" in text
    assert read_registry(bank.path).current == {"stable": "stable/v1"}
    shipped = read_registry(tmp_path / "shipped/skill_bank")
    assert shipped.current == {"stable": "stable/v1", "vertical/arithmetic": "vertical/arithmetic/v1"}


def test_the_page_names_every_field_of_a_manifest() -> None:
    page = PAGE.read_text()
    assert [name for name in Manifest.model_fields if name != "base" and f"| `{name}` |" not in page] == []


def test_the_page_names_every_shipped_skill() -> None:
    page = PAGE.read_text()
    assert [ref.name for ref in SkillBank.open(DEFAULT_BANK).skills() if f"`{ref.name}`" not in page] == []
