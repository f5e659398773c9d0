"""Validation tells all that is wrong with a skill at once, and what is above guidance."""

from pathlib import Path

import pytest

from agent_evo_dagster.patches.types import PatchStatus
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.validation import validate
from tests.agent_evo_dagster.skills.banks import ALPHA, bank_at, patch, put

MORE = patch("First.\n", "More.\n")


def problems(bank: SkillBank) -> tuple[str, ...]:
    found = validate(bank)
    assert set(found.problems) <= {"alpha"}
    return found.problems.get("alpha", ())


def each(found: tuple[str, ...], *words: str) -> None:
    """Every message has its words, in order, and there is no other."""
    assert len(found) == len(words), found
    for message, word in zip(found, words, strict=True):
        assert word in message


def test_a_good_bank_has_none(tmp_path: Path) -> None:
    assert validate(put(bank_at(tmp_path, "alpha", "beta"), MORE)).problems == {}


def test_fields_and_sections_and_patches_are_told_together(tmp_path: Path) -> None:
    base = ALPHA.replace("name: alpha", "name: other").replace("Says alpha.", " ")
    late = patch("Other.\n", "Late.\n")
    bank = put(bank_at(tmp_path, base=base), MORE, late)
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(manifest.read_text() + "protected: [nine]\n")
    each(problems(bank), "`name` is 'other'", "`description` is missing", "protects section 'nine'", late.id)


def test_every_rule_that_a_patch_breaks_is_told(tmp_path: Path) -> None:
    gone = "p-00000000000000aa"
    draft = patch("First.\n", "Draft.\n", section="nine", depends_on=[gone], status=PatchStatus.PROPOSED)
    foreign = patch("First.\n", "See https://example.org\n")
    each(
        problems(put(bank_at(tmp_path), draft, foreign)),
        "'proposed'",
        "targets a section that the base does not have",
        f"depends on patch {gone}",
        "brings in links",
    )


def test_every_patch_that_does_not_meet_its_text_is_told(tmp_path: Path) -> None:
    stale = [patch(f"Old {number}.\n", "Late.\n") for number in range(2)]
    each(problems(put(bank_at(tmp_path), stale[0], MORE, stale[1])), stale[0].id, stale[1].id)


def test_files_that_cannot_be_read_are_told_together(tmp_path: Path) -> None:
    bank = put(bank_at(tmp_path), MORE, patch("First.\n", "Else.\n"))
    for file in (bank.path / "rllm/alpha/patches").iterdir():
        file.write_text("no patch")
    each(problems(bank), "line 1: no front matter", "line 1: no front matter")
    (bank.path / "rllm/alpha/manifest.yaml").write_text("actve: []\nbase: ../x.md\n")
    (bank.path / "rllm/alpha/base.md").write_text(ALPHA.replace("<!-- /section:one -->", ""))
    each(problems(bank), "`base`", "`actve`", "section 'two' opens within section 'one'")
    (bank.path / "rllm/alpha/manifest.yaml").unlink()
    assert "no such file" in problems(bank)[0]


def test_a_broken_skill_keeps_no_other_from_being_checked(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "alpha", "beta")
    put(bank, patch("First.\n", "Else.\n", skill="beta", depends_on=["p-00000000000000aa"]))
    (bank.path / "rllm/alpha/base.md").write_text("x")
    assert list(validate(bank).problems) == ["alpha", "beta"]


@pytest.mark.parametrize(("text", "what"), [("word " * 6_000, "tokens"), ("x\n\n" * 300, "lines")])
def test_a_long_skill_is_a_warning(tmp_path: Path, text: str, what: str) -> None:
    found = validate(bank_at(tmp_path, base=ALPHA.replace("Free text.", text)))
    assert found.problems == {}
    assert what in found.warnings["alpha"][-1]
