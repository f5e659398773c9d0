"""What is written passes the reference validator of agentskills.io, which reads YAML strictly."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_ref.parser import read_properties
from skills_ref.validator import validate as reference

from agent_evo_dagster.patches.front_matter import quoted
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import ALPHA, DEFAULT_BANK, bank_at, patch

PLAIN = ALPHA.replace("version: 1.10\nenabled: no\n", "").replace("# kept as it is\n", "")


def written(bank: SkillBank) -> list[Path]:
    """The folders of all skills, compiled."""
    report = write_skills(bank, [ref.name for ref in bank.skills()])
    return [skill.output.parent for skill in report.compiled]


def test_every_shipped_skill_is_valid(tmp_path: Path) -> None:
    folders = written(create_bank(DEFAULT_BANK, tmp_path / "bank"))
    assert {folder.name: reference(folder) for folder in folders} == {folder.name: [] for folder in folders}


def test_a_patched_skill_is_valid(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, base=PLAIN)
    adopt(bank, [patch("First.\n", "---\nname: other\n---\n", action="replace")])
    assert reference(tmp_path / ".claude/skills/alpha") == []


@pytest.mark.parametrize(
    "description",
    [
        "plain words",
        "Use it: when asked",
        "'single: quotes'",
        ">-\n  over two\n  lines: folded",
        "|\n  kept\n  as lines",
        "a value  # with a comment",
        "yes",
        '"2026-01-01"',
    ],
)
def test_a_description_in_any_form_of_yaml_is_compiled_to_one_that_all_read(
    tmp_path: Path, description: str
) -> None:
    (folder,) = written(bank_at(tmp_path, base=PLAIN.replace('"Says alpha."   # short', description)))
    assert reference(folder) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=80).filter(
        lambda text: first_hidden(text) is None
    )
)
def test_any_description_is_read_as_it_was_meant(
    tmp_path_factory: pytest.TempPathFactory, description: str
) -> None:
    base = PLAIN.replace('"Says alpha."   # short', quoted(description))
    (folder,) = written(bank_at(tmp_path_factory.mktemp("bank"), base=base))
    assert reference(folder) == []
    assert read_properties(folder).description == description


def test_a_field_that_strict_readers_refuse_is_kept_and_warned_of(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    assert "Unexpected fields" in reference(written(bank)[0])[0]
    assert validate(bank).warnings["alpha"] == (
        ".claude/skills/alpha/SKILL.md: fields ['enabled', 'version'] are not of agentskills.io, and strict "
        "readers refuse them; use `metadata`.",
    )
