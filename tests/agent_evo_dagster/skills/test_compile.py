"""Skills compile to the same bytes, from approved patches that hold together, or not at all."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import ChangedSectionError, PatchError, SkillBankError, UnknownSkillError
from agent_evo_dagster.patches.settings_block import SettingSpec
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all, compile_skill
from agent_evo_dagster.skills.sections import parse_document, print_document
from agent_evo_dagster.skills.status import states
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import ALPHA, bank_at, patch, put

ONE = "First.\n"
PLAIN = "\n".join(line for line in ALPHA.split("\n") if "section:" not in line)


def test_without_patches_only_the_markers_go(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    compiled = compile_skill(bank, "alpha")
    assert compiled.text == PLAIN
    assert compiled.settings == [SettingSpec("learning_rate", 2e-5, 1e-6, 2e-3, "small")]
    assert compiled.output == tmp_path / ".claude/skills/alpha/SKILL.md"
    assert compile_skill(bank, "alpha") == compiled == compile_all(bank)[0]


def test_windows_line_ends_stay_and_patches_take_them(tmp_path: Path) -> None:
    bank = put(bank_at(tmp_path, base=ALPHA.replace("\n", "\r\n")), patch("First.\r\n", "Then.\nMore."))
    text = compile_skill(bank, "alpha").text
    assert text == PLAIN.replace("First.\n", "First.\n\nThen.\nMore.\n").replace("\n", "\r\n")


def test_actions_do_what_they_say_and_free_text_stays_in_its_place(tmp_path: Path) -> None:
    first = patch(ONE, "Before.\n", action="prepend")
    after_first = "Before.\n\nFirst.\n"
    second = patch(after_first, "After A.", action="insert_after")
    third = patch(after_first, "After B.\n", action="insert_after")
    fourth = patch(after_first, "Last.\n")
    bank = put(bank_at(tmp_path), first, second, third, fourth)
    wanted = "Before.\n\nFirst.\n\nLast.\n\nAfter A.\n\nAfter B.\n\nFree text.\n"
    assert compile_skill(bank, "alpha").text == PLAIN.replace("First.\n\nFree text.\n", wanted)
    assert bank.section("alpha", "one") == "Before.\n\nFirst.\n\nLast.\n"


def test_patches_stack_in_the_order_of_the_manifest(tmp_path: Path) -> None:
    first = patch(ONE, "Second.\n", action="replace")
    second = patch("Second.\n", "Third.\n", action="replace")
    bank = put(bank_at(tmp_path), first, second)
    assert bank.section("alpha", "one") == "Third.\n"
    with pytest.raises(ChangedSectionError, match=second.id):
        compile_skill(put(bank, second, first), "alpha")


def test_a_replace_that_restores_an_earlier_text_can_be_followed(tmp_path: Path) -> None:
    steps = (
        patch(ONE, "Second.\n", action="replace"),
        patch("Second.\n", ONE, action="replace"),
        patch(ONE, "Third.\n", action="replace"),
    )
    assert put(bank_at(tmp_path), *steps).section("alpha", "one") == "Third.\n"


def test_a_patch_against_a_changed_section_is_refused_with_what_to_do(tmp_path: Path) -> None:
    late = patch("Other.\n", "More.\n")
    with pytest.raises(
        ChangedSectionError, match=f"{late.id} .section 'one' of bank/rllm/alpha/base.md.*again"
    ):
        compile_skill(put(bank_at(tmp_path), late), "alpha")


def test_two_replaces_of_one_text_conflict_unless_one_supersedes_the_other(tmp_path: Path) -> None:
    first = patch(ONE, "Second.\n", action="replace")
    beside = patch(ONE, "Third.\n", action="replace")
    bank = bank_at(tmp_path)
    with pytest.raises(SkillBankError, match=f"{beside.id}.*and patch {first.id} both replace"):
        compile_skill(put(bank, first, beside), "alpha")
    instead = patch(ONE, "Third.\n", action="replace", supersedes=[first.id])
    assert put(bank, first, instead).section("alpha", "one") == "Third.\n"


def test_what_came_between_is_not_lost_by_superseding(tmp_path: Path) -> None:
    first = patch(ONE, "Second.\n", action="replace")
    between = patch("Second.\n", "Kept.\n")
    instead = patch(ONE, "Third.\n", action="replace", supersedes=[first.id])
    with pytest.raises(SkillBankError, match="both replace"):
        compile_skill(put(bank_at(tmp_path), first, between, instead), "alpha")


def test_only_a_replace_supersedes_an_active_patch(tmp_path: Path) -> None:
    first = patch(ONE, "Second.\n")
    second = patch("First.\n\nSecond.\n", "Third.\n", supersedes=[first.id])
    with pytest.raises(SkillBankError, match=f"supersedes patch {first.id}, which stays active"):
        compile_skill(put(bank_at(tmp_path), first, second), "alpha")


@pytest.mark.parametrize("status", sorted(set(PatchStatus) - {PatchStatus.APPROVED, PatchStatus.ACTIVE}))
def test_only_approved_patches_are_compiled(tmp_path: Path, status: PatchStatus) -> None:
    item = patch(ONE, "More.\n")
    with pytest.raises(SkillBankError, match=f"{item.id} is active in the list, but '{status.value}'"):
        compile_skill(put(bank_at(tmp_path), item, status=status), "alpha")


def test_candidates_apply_on_top_whatever_their_status_and_nothing_is_written(tmp_path: Path) -> None:
    first = patch(ONE, "Second.\n", action="replace")
    bank = put(bank_at(tmp_path, "alpha", "beta"), first)
    on_top = patch("Second.\n", "Third.\n", action="replace", status=PatchStatus.PROPOSED)
    before = sorted(tmp_path.rglob("*"))
    assert "Third." in compile_skill(bank, "alpha", extra=[on_top]).text
    assert ["Third." in item.text for item in compile_all(bank, extra=[on_top])] == [True, False]
    assert compile_skill(bank, "alpha", extra=[first]) == compile_skill(bank, "alpha")
    assert sorted(tmp_path.rglob("*")) == before


UNKNOWN = "p-00000000000000aa"


def test_unknown_dependencies_are_named(tmp_path: Path) -> None:
    item = patch(ONE, "More.\n", depends_on=[UNKNOWN])
    with pytest.raises(SkillBankError, match=f"{item.id} .* depends on patch {UNKNOWN}, which is not active"):
        compile_skill(put(bank_at(tmp_path), item), "alpha")


def test_a_dependency_comes_first_and_may_be_in_another_skill(tmp_path: Path) -> None:
    first = patch(ONE, "More.\n")
    other = patch(ONE, "Else.\n", skill="beta", depends_on=[first.id])
    late = patch(ONE, "Early.\n", depends_on=[first.id])
    bank = put(bank_at(tmp_path, "alpha", "beta"), first, other)
    assert "Else." in compile_skill(bank, "beta").text
    with pytest.raises(SkillBankError, match=f"{late.id} .* depends on patch {first.id}, which comes later"):
        compile_skill(put(bank, late, first), "alpha")


def test_cycles_are_named_also_across_skills(tmp_path: Path) -> None:
    one = patch(ONE, "More.\n")
    two = patch(ONE, "Else.\n", skill="beta", depends_on=[one.id])
    one = patch(ONE, "More.\n", depends_on=[two.id])
    bank = put(bank_at(tmp_path, "alpha", "beta"), one, two)
    for name, path in (("alpha", (one.id, two.id, one.id)), ("beta", (two.id, one.id, two.id))):
        with pytest.raises(SkillBankError, match=f"depends on itself: {' -> '.join(path)}"):
            compile_skill(bank, name)


def test_conflicts_are_named_also_across_skills(tmp_path: Path) -> None:
    one = patch(ONE, "More.\n")
    two = patch(ONE, "Else.\n", skill="beta", conflicts_with=[one.id])
    bank = put(bank_at(tmp_path, "alpha", "beta"), one, two)
    with pytest.raises(SkillBankError, match=f"{two.id} .* conflicts with patch {one.id} of skill 'alpha'"):
        compile_all(bank)
    (bank.path / "rllm/alpha/manifest.yaml").write_text(f"active: [{one.id}]\ndisabled: [{one.id}]\n")
    assert len(compile_all(bank)) == 2


def _edited(bank: SkillBank, old: str, new: str) -> None:
    base = bank.path / "rllm/alpha/base.md"
    assert old in base.read_text()
    base.write_text(base.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: alpha", "name: [", "base.md, line [0-9]: not valid YAML"),
        ("name: alpha", "name: beta", "folder's name"),
        ("First.", "Fir\u200bst.", r"base.md, line 12, column 4: U\+200B"),
        ("default: 2.0e-5", "default: 5.0", "section 'two', line 3: .*outside"),
        (
            "Free text.",
            "```yaml\n# agent-evo:settings\na: {default: 1, min: 0, max: 2, why: x}\n```",
            "outside any",
        ),
    ],
)
def test_a_base_that_is_not_valid_leaves_the_last_good_file(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    bank = bank_at(tmp_path)
    output = write_skills(bank, ["alpha"]).compiled[0].output
    _edited(bank, old, new)
    with pytest.raises(SkillBankError, match=message):
        write_skills(bank, ["alpha"])
    assert output.read_text() == PLAIN
    assert [item.state for item in states(bank)] == ["invalid"]
    assert len(validate(bank).problems["alpha"]) == 1


def test_a_setting_in_two_sections_is_refused(tmp_path: Path) -> None:
    block = ALPHA[ALPHA.index("```yaml") : ALPHA.index("<!-- /section:two")]
    bank = bank_at(tmp_path, base=ALPHA.replace("First.\n", block))
    with pytest.raises(SkillBankError, match="'learning_rate' is given in two sections"):
        compile_skill(bank, "alpha")


def test_protected_sections_and_foreign_patches_are_refused(tmp_path: Path) -> None:
    item = patch(ONE, "More.\n")
    bank = put(bank_at(tmp_path), item)
    manifest = bank.path / "rllm/alpha/manifest.yaml"
    manifest.write_text(f"active: [{item.id}]\nprotected: [one]\n")
    with pytest.raises(SkillBankError, match="protects"):
        compile_skill(bank, "alpha")
    foreign = patch(ONE, "More.\n", skill="beta")
    put(bank_at(tmp_path / "b", "alpha", "beta"), foreign)
    (tmp_path / "b/bank/rllm/beta/patches").rename(tmp_path / "b/bank/rllm/alpha/patches")
    (tmp_path / "b/bank/rllm/alpha/manifest.yaml").write_text(f"active: [{foreign.id}]\n")
    with pytest.raises(SkillBankError, match="is for rllm/beta"):
        compile_skill(SkillBank.open(tmp_path / "b/bank"), "alpha")


def test_a_patch_edited_on_disk_is_refused(tmp_path: Path) -> None:
    item = patch(ONE, "More.\n")
    bank = put(bank_at(tmp_path), item)
    file = bank.path / f"rllm/alpha/patches/{item.id}.md"
    file.write_text(file.read_text().replace("More.", "Run rm."))
    with pytest.raises(PatchError, match=f"alpha/patches/{item.id}.md: the id is"):
        compile_skill(bank, "alpha")


def test_unknown_sections_skills_and_files_say_what_there_is(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    with pytest.raises(UnknownSkillError, match=r"no skill 'omega' .* it has: alpha"):
        compile_skill(bank, "omega")
    with pytest.raises(SkillBankError, match="does not have; it has: one, two"):
        compile_skill(bank, "alpha", extra=[patch(ONE, "More.\n", section="nine")])
    (bank.path / "rllm/alpha/manifest.yaml").write_text("active: [p-gone]\n")
    with pytest.raises(SkillBankError, match="lists patch 'p-gone', but there is no"):
        compile_skill(bank, "alpha")


def test_one_bad_skill_keeps_all_from_being_written(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "beta", "alpha")
    _edited(bank, "name: alpha", "name: omega")
    with pytest.raises(SkillBankError, match="folder's name"):
        write_skills(bank, ["beta", "alpha"])
    assert not (tmp_path / ".claude").exists()


def test_compiling_again_writes_nothing(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "alpha", "beta")
    assert len(write_skills(bank, ["alpha", "beta"]).written) == 2 * 4  # text, base, version and output
    assert write_skills(bank, ["alpha", "beta"]).written == ()
    assert len(list((bank.path / "compiled").rglob("versions/*.json"))) == 2


def test_states_tell_stale_from_edited(tmp_path: Path) -> None:
    bank = bank_at(tmp_path)
    assert states(bank)[0].state == "missing"
    output = write_skills(bank, ["alpha"]).compiled[0].output
    assert states(bank)[0].state == "current"
    _edited(bank, "First.", "Changed.")
    assert states(bank)[0].state == "stale"
    output.write_text("by hand")
    assert states(bank)[0].state == "edited"


def test_an_edit_by_hand_is_not_overwritten(tmp_path: Path) -> None:
    bank = bank_at(tmp_path, "beta", "alpha")
    output = write_skills(bank, ["alpha"]).compiled[0].output
    output.write_text("by hand")
    with pytest.raises(SkillBankError, match="edited by hand, or made by another"):
        write_skills(bank, ["beta", "alpha"])
    assert output.read_text() == "by hand"
    assert not (tmp_path / ".claude/skills/beta").exists()


bodies = st.lists(st.sampled_from(["A.\n", "B.", "\nC.\n", "```\n<!-- section:one -->\n```\n"]), max_size=4)
actions: st.SearchStrategy[Action] = st.sampled_from(get_args(Action))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(bodies, st.data())
def test_any_stack_of_patches_compiles_to_the_same_bytes_and_leaves_the_rest(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    bank = bank_at(tmp_path_factory.mktemp("bank"))
    stack: list[Patch] = []
    for text in texts:
        base = SkillBank.open(bank.path).section("alpha", "one")
        item = patch(base, text, action=data.draw(actions))
        if item.id not in {held.id for held in stack}:
            stack.append(item)
            put(bank, *stack)
    compiled = compile_skill(bank, "alpha")
    assert compiled == compile_skill(SkillBank.open(bank.path), "alpha")
    assert compiled.text.startswith(PLAIN[: PLAIN.index("First.")])
    assert compiled.text.endswith(PLAIN[PLAIN.index("\nFree text.") :])
    assert print_document(parse_document(ALPHA, origin="x")) == ALPHA
