"""Profiles compile a skill from another list of patches, and never from what is disabled."""

from pathlib import Path

import pytest

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many, compile_skill
from agent_evo_dagster.skills.status import states
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import bank_at, patch, put

FIRST = patch("First.\n", "More.\n", action="insert_after")
SECOND = patch("First.\n", "Else.\n", action="insert_after")


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    made = put(bank_at(tmp_path, "alpha", "beta"), FIRST, SECOND)
    listed(
        made, f"short: {{active: [{SECOND.id}]}}", "bare: {active: []}", f"less: {{disabled: [{SECOND.id}]}}"
    )
    return made


def listed(bank: SkillBank, *profiles: str, more: str = "") -> None:
    lines = "".join(f"  {profile}\n" for profile in profiles)
    text = f"active: [{FIRST.id}, {SECOND.id}]\n{more}profiles:\n{lines}"
    (bank.path / "rllm/alpha/manifest.yaml").write_text(text)


@pytest.mark.parametrize(
    ("profile", "applied"),
    [
        (None, (FIRST.id, SECOND.id)),
        ("short", (SECOND.id,)),
        ("bare", ()),
        ("less", (FIRST.id,)),
    ],
)
def test_a_profile_chooses_its_patches(
    bank: SkillBank, profile: str | None, applied: tuple[str, ...]
) -> None:
    assert compile_skill(bank, "alpha", profile=profile).applied == applied


def test_what_is_disabled_stays_out_of_every_profile(bank: SkillBank) -> None:
    listed(bank, f"short: {{active: [{SECOND.id}]}}", more=f"disabled: [{SECOND.id}]\n")
    assert compile_skill(bank, "alpha", profile="short").applied == ()


def test_an_unknown_profile_is_refused_with_those_that_exist(bank: SkillBank) -> None:
    with pytest.raises(SkillBankError, match="no profile 'long'; it has: short, bare, less"):
        compile_many(bank, ["alpha"], profile="long")
    with pytest.raises(SkillBankError, match="none of alpha, beta has a profile 'long'"):
        compile_many(bank, ["alpha", "beta"], profile="long")


def test_of_many_skills_those_without_the_profile_are_compiled_as_ever(bank: SkillBank) -> None:
    assert [skill.applied for skill in compile_many(bank, ["alpha", "beta"], profile="bare")] == [(), ()]


def test_a_profile_is_written_told_and_replaced_by_the_next_compilation(bank: SkillBank) -> None:
    names = ["alpha", "beta"]
    write_skills(bank, names)
    write_skills(bank, names, profile="short")
    assert [(item.state, item.profile) for item in states(bank)] == [("stale", "short"), ("current", "")]
    assert {item.state for item in states(bank, profile="short")} == {"current"}
    assert len(write_skills(bank, names).written) == 1
    assert {item.state for item in states(bank)} == {"current"}


def test_a_snapshot_holds_the_patches_of_profiles(bank: SkillBank) -> None:
    third = patch("First.\n", "Third.\n", action="insert_after")
    put(bank, third)
    listed(bank, f"other: {{active: [{third.id}]}}")
    assert f"rllm/alpha/patches/{third.id}.md" in bank.content()


def test_a_profile_that_does_not_compile_is_found_by_validation(bank: SkillBank) -> None:
    listed(bank, "bad: {active: [p-gone]}")
    (problem,) = validate(bank).problems["alpha"]
    assert "lists patch 'p-gone'" in problem
    assert compile_skill(bank, "alpha").applied == (FIRST.id, SECOND.id)
