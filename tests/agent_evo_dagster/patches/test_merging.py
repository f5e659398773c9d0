"""Edits of one text become one where they do not touch; patches that exclude each other are found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.patches.conflicts import conflicts, objections
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.merging import merged
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.review import Review
from tests.agent_evo_dagster.patches.material import OPENED, a_patch

BASE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (BASE.replace("one", "1"), BASE.replace("five", "5"), "1\ntwo\nthree\nfour\n5\n"),
        (BASE.replace("one\n", ""), BASE + "six\n", "two\nthree\nfour\nfive\nsix\n"),
        (BASE.replace("one", "1"), BASE.replace("one", "1"), "1\ntwo\nthree\nfour\nfive\n"),
        (BASE, BASE.replace("two", "2"), "one\n2\nthree\nfour\nfive\n"),
        (BASE.replace("one", "1"), BASE.replace("one", "uno"), None),
        (BASE.replace("one", "1"), BASE.replace("two", "2"), None),
        (BASE + "six\n", BASE + "sept\n", None),
        (BASE.replace("two\n", ""), BASE.replace("one\ntwo\n", "x\n"), None),
    ],
)
def test_only_edits_that_do_not_touch_are_merged(first, second, both):
    assert merged(BASE, first, second) == both
    assert merged(BASE, second, first) == both


_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8).map("".join)


@given(_TEXTS, _TEXTS)
def test_one_change_alone_is_that_change(base, text):
    assert merged(base, text, base) == text
    assert merged(base, text, text) == text


@given(_TEXTS, _TEXTS, _TEXTS)
def test_a_merge_does_not_depend_on_who_comes_first(base, first, second):
    assert merged(base, first, second) == merged(base, second, first)


def review(
    body, *, base=BASE, action="replace", approved=False, adopted=False, section="optimisation", **more
):
    patch = a_patch(body).model_copy(
        update={"base_hash": section_hash(base), "action": action, "target_section": section, **more}
    )
    said = DecisionRecord(
        at=OPENED, patch_id=patch.id, diff_hash="0" * 64, decision="approve", by="Ada", gate_verdict=None,
        reason="ok", round="round-0001",
    )  # fmt: skip
    return Review("round-0001", patch, base, "", "{}", None, said if approved else None, adopted, False)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (review(BASE.replace("five", "5")), "their lines do not touch"),
        (review(BASE.replace("one", "uno")), "their lines touch"),
        (review("x\n", base="other\n"), "different texts"),
    ],
)
def test_two_open_patches_of_one_section_are_a_conflict(other, said):
    mine = review(BASE.replace("one", "1"))
    (found,) = conflicts([mine, other])
    assert said in found.why and found.names(mine.patch.id) and found.names(other.patch.id)
    assert any(said in line for line in objections([mine, other], [mine, other]))
    assert list(objections([mine], [mine, other])) == []  # the other one only waits


def test_what_is_adopted_or_edits_another_section_is_no_conflict():
    mine = review("mine\n")
    assert (
        conflicts([mine, review("x\n", approved=True, adopted=True), review("y\n", section="rollouts")]) == []
    )


def test_beside_an_approved_patch_of_the_section_no_other_is_approved():
    mine, theirs = review("mine\n"), review("theirs\n", approved=True)
    assert len(list(objections([mine], [mine, theirs]))) == 1
    assert list(objections([theirs], [mine, theirs])) == []  # again: it stands


def test_a_declared_conflict_holds_across_sections():
    mine = review("mine\n")
    other = review("other\n", section="rollouts", conflicts_with=(mine.patch.id,))
    assert "says that it conflicts" in conflicts([mine, other])[0].why


def test_what_is_declared_of_a_patch_holds_for_what_was_made_of_it():
    named = review("mine\n").patch.id
    other = review("other\n", section="rollouts", conflicts_with=(named,))
    made = review("made\n", supersedes=(named,))
    assert len(conflicts([made, other])) == 1
    assert len(list(objections([made, other], [made, other]))) == 1


def test_a_patch_waits_for_what_it_depends_on():
    first = review("first\n", section="rollouts")
    second = review("second\n", depends_on=(first.patch.id,))
    assert "depends on" in next(objections([second], [first, second]))
    assert list(objections([first, second], [first, second])) == []
