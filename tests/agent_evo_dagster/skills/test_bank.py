"""Banks open safely, hash what decides, and are copied in one step."""

import os
from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.bank import SkillBank, create_bank, snapshot
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import bank_at, patch, put


def test_a_missing_bank_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(SkillBankError, match=r"no skill bank at .*AGENT_EVO_BANK"):
        SkillBank.open(tmp_path)


@pytest.mark.parametrize(
    "output",
    [
        "/etc/alpha/SKILL.md",
        "../alpha/SKILL.md",
        "a/../../alpha/SKILL.md",
        "a/beta/SKILL.md",
        "alpha/skill.md",
    ],
)
def test_outputs_stay_in_the_project(tmp_path: Path, output: str) -> None:
    file = bank_at(tmp_path).path / "bank.yaml"
    file.write_text(file.read_text().replace(".claude/skills/alpha/SKILL.md", output))
    with pytest.raises(SkillBankError, match=r"bank\.yaml: the output of 'alpha'"):
        SkillBank.open(file.parent)


def test_an_output_within_the_bank_is_refused(tmp_path: Path) -> None:
    file = bank_at(tmp_path).path / "bank.yaml"
    file.write_text(file.read_text().replace(".claude/skills/alpha/SKILL.md", "bank/alpha/SKILL.md"))
    with pytest.raises(SkillBankError, match="within the skill bank"):
        compile_skill(SkillBank.open(file.parent), "alpha")


def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    bank = bank_at(tmp_path / "project")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/.claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SkillBankError, match="symbolic link"):
        write_skills(bank, ["alpha"])
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["../up", "Alpha", "a--b", "a_b", "x" * 65, "a/b"])
def test_names_that_could_become_other_paths_are_refused(tmp_path: Path, name: str) -> None:
    file = bank_at(tmp_path).path / "bank.yaml"
    file.write_text(file.read_text().replace("      alpha:", f'      "{name}":'))
    with pytest.raises(SkillBankError, match="lower-case words"):
        SkillBank.open(file.parent)


def test_a_manifest_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    bank = put(bank_at(tmp_path), patch("First.\n", "More.\n"))
    (bank.path / "rllm/alpha/manifest.yaml").write_text("active: [../../../secret]\n")
    with pytest.raises(SkillBankError, match="there is no"):
        compile_skill(bank, "alpha")


def test_the_hash_follows_what_is_compiled_and_nothing_else(tmp_path: Path) -> None:
    item = patch("First.\n", "More.\n")
    bank = put(bank_at(tmp_path), item)
    before = bank.content_hash()
    write_skills(bank, ["alpha"])
    (bank.path / "rllm/alpha/patches/p-draft.md").write_text("a draft")
    (bank.path / "decisions.jsonl").write_text("{}")
    assert bank.content_hash() == before
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text() + "\nmore")
    assert bank.content_hash() != before


def test_the_hash_does_not_depend_on_where_the_bank_is(tmp_path: Path) -> None:
    assert bank_at(tmp_path / "a").content_hash() == bank_at(tmp_path / "b").content_hash()


def test_a_bank_is_made_from_a_template_once(tmp_path: Path) -> None:
    template = put(bank_at(tmp_path / "template"), patch("First.\n", "More.\n"))
    write_skills(template, ["alpha"])
    bank = create_bank(template.path, tmp_path / "home" / "skill_bank")
    assert bank.content_hash() == template.content_hash()
    assert not (bank.path / "compiled").exists()
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["skill_bank"]
    with pytest.raises(SkillBankError, match="exists"):
        create_bank(template.path, bank.path)


def test_the_record_of_decisions_of_a_template_comes_along(tmp_path: Path) -> None:
    template = bank_at(tmp_path / "template")
    (template.path / "decisions.jsonl").write_bytes(b"{}\n")
    bank = create_bank(template.path, tmp_path / "home" / "skill_bank")
    assert (bank.path / "decisions.jsonl").read_bytes() == b"{}\n"
    assert bank.content_hash() == template.content_hash()


def test_a_snapshot_is_kept_once_under_its_hash(tmp_path: Path) -> None:
    bank = put(bank_at(tmp_path / "p"), patch("First.\n", "More.\n"))
    digest = snapshot(bank, tmp_path / "store")
    assert digest == bank.content_hash() == snapshot(bank, tmp_path / "store")
    kept = SkillBank.open(tmp_path / "store" / digest)
    assert kept.section("alpha", "one") == bank.section("alpha", "one")
    base = bank.path / "rllm/alpha/base.md"
    base.write_text(base.read_text().replace("Free", "Loose"))
    assert snapshot(bank, tmp_path / "store") != digest
    assert "Free" in compile_skill(kept, "alpha").text


def test_a_snapshot_that_was_changed_is_found(tmp_path: Path) -> None:
    bank = bank_at(tmp_path / "p")
    digest = snapshot(bank, tmp_path / "store")
    kept = tmp_path / "store" / digest / "rllm/alpha/base.md"
    kept.write_text(kept.read_text() + "x")
    with pytest.raises(SkillBankError, match="was changed since"):
        snapshot(bank, tmp_path / "store")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_bank_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    bank.path.chmod(0o555)
    assert SkillBank.open(bank.path).sections("alpha")


def test_files_that_are_not_text_are_refused_with_their_line(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    (bank.path / "rllm/alpha/base.md").write_bytes(b"---\nname: alpha\n\xff\n---\n")
    with pytest.raises(SkillBankError, match=r"base\.md, line 3: not UTF-8"):
        compile_skill(bank, "alpha")
