"""Squashing makes patches part of the base, and nobody who reads the skill can tell."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_ref.validator import validate as reference

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.application import patched_section
from agent_evo_dagster.patches.legacy import read_legacy_patches
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many, compile_skill
from agent_evo_dagster.skills.rollback import roll_back_patch, roll_back_skill
from agent_evo_dagster.skills.squash import squash
from agent_evo_dagster.skills.status import states
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.versions import versions
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import ALPHA, bank_at, patch, put
from tests.agent_evo_dagster.skills.test_adopt import files
from tests.agent_evo_dagster.skills.test_rollback import ASKED, LAST, MORE, ONE, output

SAMPLE = Path(__file__).parents[4] / "shared/data/agent_sessions/skill_bank_sample/rllm"


@pytest.fixture
def bank(tmp_path: Path) -> SkillBank:
    made = bank_at(tmp_path, "alpha", "beta")
    adopt(made, [MORE, LAST, patch("First.\n\nMore.\n\nLast.\n", "After.\n", action="insert_after")])
    return made


def test_the_bytes_stay_the_sections_stay_and_the_patches_are_archived(bank: SkillBank) -> None:
    before, sections = output(bank), bank.sections("alpha")
    report = squash(bank, ["alpha", "beta"])
    (item,) = report.squashed
    assert item.archived[:2] == (MORE.id, LAST.id)
    assert compile_skill(bank, "alpha").text.encode() == before == output(bank)
    assert bank.sections("alpha") == sections
    manifest = bank.manifest(bank.ref("alpha"))
    assert (manifest.active, manifest.archived) == ((), item.archived)
    held = [bank.patch(bank.ref("alpha"), name) for name in item.archived]
    assert [one.status for one in held if one] == [PatchStatus.ARCHIVED] * 3
    assert states(bank)[0].state == "current"
    assert squash(bank, ["alpha"]).written == ()


def test_a_dry_run_writes_nothing(bank: SkillBank) -> None:
    before = files(bank.project)
    (item,) = squash(bank, ["alpha"], dry_run=True).squashed
    assert (
        "<!-- section:one -->\nFirst.\n\nMore.\n\nLast.\n<!-- /section:one -->\nAfter."
        in item.after.base.replace("\n\nAfter", "\nAfter")
    )
    assert files(bank.project) == before


def test_a_squashed_patch_does_not_come_back_and_counts_as_there(bank: SkillBank) -> None:
    squash(bank, ["alpha"])
    assert adopt(bank, [MORE]).already == (MORE.id,)
    other = patch(ONE, "Else.\n", skill="beta", depends_on=[MORE.id])
    assert adopt(bank, [other]).adopted == (other.id,)
    late = patch(bank.section("alpha", "one"), "Newest.\n", depends_on=[LAST.id])
    assert adopt(bank, [late]).adopted == (late.id,)
    assert validate(bank).problems == {}
    clash = patch(ONE, "Clash.\n", skill="beta", conflicts_with=[MORE.id])
    with pytest.raises(SkillBankError, match=f"conflicts with patch {MORE.id} of skill 'alpha'"):
        compile_skill(bank, "beta", extra=[clash])


def test_a_squash_can_be_gone_back_from(bank: SkillBank) -> None:
    squash(bank, ["alpha"])
    with pytest.raises(SkillBankError, match="part of the base of alpha since that was squashed"):
        roll_back_patch(bank, LAST.id, ASKED)
    assert [version.number for version in versions(bank, bank.ref("alpha"))] == [1, 2, 3]
    before = output(bank)
    roll_back_skill(bank, "alpha", "2", ASKED)
    manifest = bank.manifest(bank.ref("alpha"))
    assert (len(manifest.active), manifest.archived, manifest.disabled) == (3, (), ())
    assert output(bank) == before
    assert roll_back_patch(bank, manifest.active[-1], ASKED).changed
    assert b"After." not in output(bank)


def test_a_profile_that_would_change_keeps_the_skill_from_being_squashed(bank: SkillBank) -> None:
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(manifest.read_text() + f"profiles:\n  short: {{active: [{MORE.id}]}}\n")
    before = files(bank.project)
    with pytest.raises(SkillBankError, match="its profile 'short' would compile to other bytes"):
        squash(bank, ["alpha"])
    assert files(bank.project) == before
    manifest.write_text(manifest.read_text().replace(f"active: [{MORE.id}]", "description: same"))
    assert len(squash(bank, ["alpha"]).squashed) == 1
    assert compile_many(bank, ["alpha"], profile="short")[0].text.encode() == output(bank)


bodies = st.lists(
    st.sampled_from(["A.\n", "B.", "\nC.\n", "\n\nD.\n\n", "```yaml\n<!-- section:one -->\n```\n", " \tE\n"]),
    max_size=5,
)
actions: st.SearchStrategy[Action] = st.sampled_from(get_args(Action))
bases = st.sampled_from(
    [
        ALPHA,
        ALPHA.replace("\n", "\r\n"),
        ALPHA.replace("First.\n", ""),
        ALPHA.replace("\nFree text.\n\n", ""),
        ALPHA.replace("First.\n", "First.\n\n\n").replace("\nFree text.", "Free text."),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(bases, bodies, st.data())
def test_any_stack_of_patches_squashes_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, base: str, texts: list[str], data: st.DataObject
) -> None:
    bank = bank_at(tmp_path_factory.mktemp("bank"), base=base)
    stack: list[Patch] = []
    for text in texts:
        section = data.draw(st.sampled_from(["one", "two"]))
        action = data.draw(actions if section == "one" else st.sampled_from(["insert_after", "append"]))
        item = patch(
            SkillBank.open(bank.path).section("alpha", section), text, action=action, section=section
        )
        if item.id not in {held.id for held in stack}:
            stack.append(item)
            put(bank, *stack)
    bank = SkillBank.open(bank.path)
    write_skills(bank, ["alpha"])
    before, sections = output(bank), bank.sections("alpha")
    squash(bank, ["alpha"])
    assert compile_skill(bank, "alpha").text.encode() == before
    assert bank.sections("alpha") == sections
    assert bank.manifest(bank.ref("alpha")).applied == ()


@pytest.mark.parametrize("skill", ["rllm-config", "rllm-monitor"])
def test_the_patches_of_a_real_bank_compile_and_squash_to_the_same_bytes(tmp_path: Path, skill: str) -> None:
    if not SAMPLE.is_dir():
        pytest.skip(f"needs the sample bank at {SAMPLE}")
    loaded = read_legacy_patches(SAMPLE / skill / "patches").loaded
    names = dict.fromkeys(old.target_section for old in loaded)
    sections = "".join(f"<!-- section:{name} -->\nBase.\n<!-- /section:{name} -->\n" for name in names)
    bank = bank_at(tmp_path, skill, base=f'---\nname: alpha\ndescription: "Of a real bank."\n---\n{sections}')
    manifest = bank.path / f"rllm/{skill}/manifest.yaml"
    manifest.write_text("active: []\nallow: [links, commands, run_on_load]\n")
    texts = bank.sections(skill)
    stack = []
    for old in loaded:
        base = texts[old.target_section]
        item = old.against(base, group="rllm", skill=skill, created=ASKED.at)
        texts[old.target_section] = patched_section(base, item)
        stack.append(item.model_copy(update={"status": PatchStatus.APPROVED}))
    adopt(bank, stack)
    before = output(bank, skill)
    assert reference((bank.project / bank.ref(skill).output).parent) == []
    squash(bank, [skill])
    assert compile_skill(bank, skill).text.encode() == before == output(bank, skill)
    assert bank.sections(skill) == texts
