"""Patches made of patches: what both did is in the one, in any order of naming, or both sides are shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import MergeConflictError, PatchError
from agent_evo_dagster.patches.change import diff_hash, patched_text, settings_change
from agent_evo_dagster.patches.combining import Side, merged_patch, rebased_patch
from agent_evo_dagster.patches.document import parse_patch, patch_id, render_patch, section_hash
from agent_evo_dagster.patches.fences import split_lines
from agent_evo_dagster.patches.settings_block import with_default
from agent_evo_dagster.patches.types import Patch
from tests.agent_evo_dagster.patches.material import OPENED, OPTIMISATION

TEXT = "one\ntwo\nthree\nfour\nfive\n"


def side(body: str, base: str = TEXT, action="replace", **more: object) -> Side:
    digest = section_hash(base)
    fields = {"skill": "rllm-config", "action": action, "base_hash": digest, "body": body}
    patch = Patch(
        id=patch_id(section="notes", **fields),
        group="rllm",
        target_section="notes",
        description=f"{action} {body[:8]!r}",
        source_round="round-0001",
        created=OPENED,
        **fields,
        **more,
    )
    return Side(patch, base)


def both(one: Side, other: Side, current: str | None = None) -> Patch:
    """The merge, which is the same whichever is named first."""
    text = one.base if current is None else current
    made = merged_patch(text, one, other, at=OPENED)
    assert merged_patch(text, other, one, at=OPENED) == made
    assert parse_patch(render_patch(made), origin="made") == made
    return made


@st.composite
def disjoint(draw: st.DrawFn) -> tuple[list[str], dict[int, list[str]], dict[int, list[str]]]:
    """Lines that all differ, and for two sides the places that each changes, with a line between any two."""
    base = [f"line {number}\n" for number in range(draw(st.integers(3, 12)))]
    places = draw(st.lists(st.integers(0, len(base) - 1), min_size=2, max_size=6, unique=True))
    apart = [place for place in sorted(places) if place % 2 == 0] or [0]
    mine, theirs = dict[int, list[str]](), dict[int, list[str]]()
    for place in apart:
        number = draw(st.integers(0, 2))
        chosen = draw(st.sampled_from([mine, theirs]))
        chosen[place] = [f"new {place}.{line}\n" for line in range(number)]
    return base, mine, theirs


def edited(base: list[str], edits: dict[int, list[str]]) -> str:
    return "".join("".join(edits.get(place, [line])) for place, line in enumerate(base))


@settings(max_examples=60, deadline=None)
@given(disjoint())
def test_a_merge_of_edits_apart_is_both_applied_in_either_order(case):
    base, mine, theirs = case
    text, whole = "".join(base), edited(base, {**mine, **theirs})
    bodies = [edited(base, mine), edited(base, theirs)]
    if text in bodies or not all(body.strip() for body in (*bodies, whole)):
        return
    one, other = (side(body, text) for body in bodies)
    assert patched_text(text, both(one, other)) == whole
    # One after the other, each brought onto what the other left.
    for first, second in ((one, other), (other, one)):
        assert patched_text(first.text, rebased_patch(first.text, second, at=OPENED)) == whole


def a_side() -> st.SearchStrategy[list[tuple[bool, int]]]:
    """For each of eight lines whether it stays, and how many new ones come before it."""
    stays = st.sampled_from([*[True] * 7, False])
    return st.lists(st.tuples(stays, st.sampled_from([*[0] * 8, 1, 2])), min_size=8, max_size=8)


def written(plan: list[tuple[bool, int]], name: str) -> list[str]:
    lines = []
    for place, (stays, new) in enumerate(plan):
        lines += [f"{name} {place}.{number}\n" for number in range(new)]
        lines += [f"line {place}\n"] if stays else []
    return lines


@settings(max_examples=100, deadline=None)
@given(a_side(), a_side())
def test_a_merge_keeps_every_line_that_either_brought_and_what_both_left(mine, theirs):
    base = [f"line {place}\n" for place in range(8)]
    first, second = written(mine, "mine"), written(theirs, "theirs")
    if not first or not second or base in (first, second):
        return
    one, other = side("".join(first), "".join(base)), side("".join(second), "".join(base))
    try:
        made = both(one, other)
    except PatchError:
        return
    found = split_lines(patched_text("".join(base), made))
    kept = [line for line in base if line in first and line in second]
    assert [line for line in found if line in base] == kept
    for text in (first, second):
        assert [line for line in found if line in text and line not in base] == [
            line for line in text if line not in base
        ]


def test_what_is_made_is_a_patch_of_its_own_that_stands_for_both():
    one = side(TEXT.replace("one", "1"), findings=("f-1", "f-2"), depends_on=("p-" + "1" * 16,))
    other = side(TEXT.replace("five", "5"), findings=("f-2", "f-3"), supersedes=("p-" + "2" * 16,))
    made = both(one, other)
    ids = {one.patch.id, other.patch.id}
    assert made.id not in ids and set(made.supersedes) == {*ids, "p-" + "2" * 16}
    assert (made.action, made.body) == ("replace", "1\ntwo\nthree\nfour\n5\n")
    assert set(made.findings) == {"f-1", "f-2", "f-3"} and made.depends_on == ("p-" + "1" * 16,)
    assert made.source_round is None and made.base_hash == section_hash(TEXT)
    assert all(name in made.description for name in ids)
    assert diff_hash(made) not in {diff_hash(one.patch), diff_hash(other.patch)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (side(TEXT.replace("two", "2")), side(TEXT.replace("two", "zwei"))),
        (side(TEXT.replace("two", "2")), side(TEXT.replace("three", "3"))),
        (side(TEXT.replace("five\n", "five\nsix\n")), side("- more\n", action="append")),
    ],
)
def test_what_touches_is_shown_with_both_sides_and_nothing_is_made(first, second):
    with pytest.raises(MergeConflictError, match="change the same lines, or lines side by side") as caught:
        both(first, second)
    told = str(caught.value)
    assert "as it was:" in told and all(f"  {one.patch.id}:\n    | " in told for one in (first, second))


def test_lines_of_a_conflict_stand_under_whose_they_are():
    one, other = side(TEXT.replace("two\n", "")), side(TEXT.replace("two", "zwei"))
    with pytest.raises(MergeConflictError) as caught:
        both(one, other)
    told = str(caught.value)
    assert "  line 2, as it was:\n    | two\n" in told
    assert f"  {one.patch.id}:\n    (no line)" in told and f"  {other.patch.id}:\n    | zwei" in told


@pytest.mark.parametrize("action", ["append", "prepend", "insert_after"])
def test_what_both_add_at_one_end_is_added_there_by_one_patch(action):
    one, other = side("- mine\n", action=action), side("- yours\n", action=action)
    made = both(one, other)
    assert made.action == action and {"- mine", "- yours"} < set(made.body.split("\n"))


def test_what_stands_after_a_section_is_not_merged_into_it():
    after, edit = side("- after\n", action="insert_after"), side(TEXT.replace("one", "1"))
    with pytest.raises(PatchError, match=f"rebase {after.patch.id}"):
        both(after, edit)
    assert rebased_patch(edit.text, after, at=OPENED).action == "insert_after"


def settings_side(base: str = OPTIMISATION, **values: float) -> Side:
    text = base
    for name, value in values.items():
        text = with_default(text, name, value)
    return side(text, base)


def test_defaults_of_different_settings_never_touch_though_their_lines_do():
    made = both(settings_side(learning_rate=1e-4), settings_side(max_steps=20))
    assert settings_change(OPTIMISATION, made) == {"learning_rate": (2e-5, 1e-4), "max_steps": (10, 20)}


def test_two_values_of_one_setting_are_for_a_person():
    with pytest.raises(MergeConflictError, match=r"learning_rate: \{default: 0\.0001"):
        both(settings_side(learning_rate=1e-4), settings_side(learning_rate=1e-3))


def test_a_setting_that_moved_since_is_for_a_person_and_another_that_moved_is_not():
    mine = settings_side(learning_rate=1e-4)
    moved = with_default(OPTIMISATION, "max_steps", 12)
    assert settings_change(moved, rebased_patch(moved, mine, at=OPENED)) == {"learning_rate": (2e-5, 1e-4)}
    with pytest.raises(MergeConflictError, match="the section as it is now"):
        rebased_patch(with_default(OPTIMISATION, "learning_rate", 5e-5), mine, at=OPENED)


def test_patches_of_different_texts_are_merged_onto_the_section_as_it_is():
    older, newer = side(TEXT.replace("one", "1")), side(TEXT.replace("five", "5") + "six\n", TEXT + "six\n")
    assert both(older, newer, TEXT + "six\n").body == "1\ntwo\nthree\nfour\n5\nsix\n"


def test_a_rebased_patch_does_what_it_did_and_stands_for_the_old_one():
    old, current = side(TEXT.replace("one", "1"), findings=("f-1",)), TEXT.replace("five", "5")
    made = rebased_patch(current, old, at=OPENED)
    assert (made.body, made.supersedes) == ("1\ntwo\nthree\nfour\n5\n", (old.patch.id,))
    assert (made.findings, made.description) == (("f-1",), old.patch.description)
    line = side("- more\n", action="append")
    assert rebased_patch(TEXT + "- other\n", line, at=OPENED).body == "- more\n"


@pytest.mark.parametrize(
    "make",
    [
        lambda: both(side(TEXT.replace("one", "1")), side(TEXT.replace("one", "1"))),
        lambda: rebased_patch(TEXT, side(TEXT.replace("one", "1")), at=OPENED),
        lambda: rebased_patch("1\ntwo\nthree\nfour\nfive\n", side(TEXT.replace("one", "1")), at=OPENED),
    ],
)
def test_nothing_is_made_where_nothing_is_left_to_make(make):
    with pytest.raises(PatchError, match=r"named twice|Nothing is left"):
        make()


def test_patches_that_exclude_each_other_or_edit_different_sections_are_not_merged():
    one = side(TEXT.replace("one", "1"))
    against = side(TEXT.replace("five", "5"), conflicts_with=(one.patch.id,))
    with pytest.raises(PatchError, match="conflicts with the other"):
        both(one, against)
    elsewhere = Side(one.patch.model_copy(update={"target_section": "other", "id": "p-" + "3" * 16}), TEXT)
    with pytest.raises(PatchError, match="different sections"):
        both(one, elsewhere)
