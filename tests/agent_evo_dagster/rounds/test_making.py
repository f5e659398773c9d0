"""Merged and rebased patches: on record, judged and decided anew, and taken up by the next round alone."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.errors import DecisionError, MergeConflictError, PatchError
from agent_evo_dagster.patches.approvals import DecisionRequest
from agent_evo_dagster.patches.decisions import decide
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.gate import judge_patches
from agent_evo_dagster.patches.life import lives
from agent_evo_dagster.patches.propose import propose_patches, to_frame
from agent_evo_dagster.patches.review import find_review
from agent_evo_dagster.rounds.deciding import Desk
from agent_evo_dagster.rounds.making import merge, not_taken_up, rebase
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.skills.bank import create_bank
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.patches.material import OPENED, hint, rollouts
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

SKILL = "rllm-config"
LATER = OPENED + timedelta(hours=1)
NEXT = OPENED + timedelta(hours=2)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A bank of its own, and a warehouse with nothing in it."""
    bank = create_bank(DEFAULT_BANK, tmp_path / "bank")
    return Desk(bank, Warehouse(tmp_path / "warehouse"), RoundStore(tmp_path / "rounds"), "manual")


def finding(setting: str, direction: str = "raise") -> dict[str, object]:
    row = {"finding_id": f"f-{setting}", "severity": "warning", "confidence": 0.5, "count": 1}
    return {**row, "target_skill": SKILL, "hint": hint(setting, direction, 2.0)}


def a_round(desk: Desk, number: int, *settings: str, made=(), created=OPENED, budget=1) -> list[str]:
    """What the asset stores of a round that proposes a change of each of `settings`, judged."""
    sections = {(SKILL, name): text for name, text in desk.bank.sections(SKILL).items()}
    frame = pl.DataFrame([finding(name) for name in settings], schema=FINDING_SCHEMA)
    proposals = propose_patches(
        frame,
        sections,
        {SKILL: "rllm"},
        round_key=f"round-{number:04d}",
        created=created,
        ledger=desk.ledger,
        made=made,
        budget=budget,
    )
    patches = to_frame(proposals.patches, sections)
    desk.store.write(["skill_patches"], f"round-{number:04d}", patches)
    rows = {patch.id: rollouts([0.25] * 40, [0.75] * 40) for patch in proposals.patches}
    desk.store.write(["patch_evaluation"], f"round-{number:04d}", judge_patches(patches, rows))
    return [patch.id for patch in proposals.patches]


@pytest.fixture
def pair(desk: Desk) -> tuple[str, str]:
    """Two patches of one section, of two rounds: each changes a setting, on lines side by side."""
    return (*a_round(desk, 1, "learning_rate"), *a_round(desk, 2, "epsilon_high"))


def said(desk: Desk, word: str, name: str, *, at=NEXT, **more: object) -> None:
    request = {"by": "Ada", "reason": "read it", word: [name], **more}
    desk.carry_out(DecisionRequest.model_validate(request), at)


def review(desk: Desk, name: str):
    return find_review(desk.reviews(), name)


def test_a_merge_is_on_record_and_inherits_no_verdict(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER)
    assert review(desk, pair[0]).gate == review(desk, pair[1]).gate == "accept"
    assert (made.gate, made.evidence, made.decision, made.status) == (None, None, None, "proposed")
    (record,) = desk.ledger.records()
    assert (record.kind, record.patch_id, record.by, set(record.sources)) == (
        "made",
        made.patch.id,
        "Ada",
        set(pair),
    )
    assert merge(desk, *reversed(pair), by="Bob", at=NEXT).patch == made.patch
    assert len(desk.ledger.records()) == 1


def test_until_a_round_judged_it_nobody_approves_it_and_anybody_rejects_it(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch.id
    with pytest.raises(DecisionError, match="no round has judged it yet"):
        said(desk, "approve", made, override=True)
    said(desk, "reject", made)
    assert not_taken_up(desk.ledger, desk.store, "round-0003", NEXT + timedelta(days=1)) == []
    with pytest.raises(PatchError, match="decided before: reject by Ada"):
        merge(desk, *pair, by="Bob", at=NEXT)
    assert all(review(desk, name).waits for name in pair)


def test_the_next_round_takes_it_up_once_before_its_own(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    assert not_taken_up(desk.ledger, desk.store, "round-0002", OPENED) == []  # it was opened before
    assert not_taken_up(desk.ledger, desk.store, "round-0003", NEXT) == [made]
    assert a_round(desk, 3, "beta", made=[made], created=NEXT) == [made.id]
    found = review(desk, made.id)
    assert (found.round, found.patch.source_round, found.patch.created) == ("round-0003", "round-0003", NEXT)
    assert found.gate == "accept"  # of its own evidence
    assert not_taken_up(desk.ledger, desk.store, "round-0003", NEXT) == [made]  # made again: the same
    assert not_taken_up(desk.ledger, desk.store, "round-0004", NEXT) == []


def test_its_approval_ends_what_it_was_made_of(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    a_round(desk, 3, made=[made], created=NEXT)
    said(desk, "approve", made.id)
    for name in pair:
        ended = review(desk, name)
        assert (ended.decision.decision, ended.status) == ("withdraw", "archived")
        assert ended.decision.reason == f"{made.id} stands for it, and was approved"
    with pytest.raises(DecisionError, match="decided 'withdraw'"):
        said(desk, "approve", pair[0])


def test_its_rejection_leaves_what_it_was_made_of_waiting(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    a_round(desk, 3, made=[made], created=NEXT)
    said(desk, "reject", made.id)
    assert all(review(desk, name).waits for name in pair)


def test_beside_an_approved_source_it_is_not_approved(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    a_round(desk, 3, made=[made], created=NEXT)
    said(desk, "approve", pair[0])
    with pytest.raises(DecisionError, match=f"{pair[0]}, which it was made of, was approved by itself"):
        said(desk, "approve", made.id)


@pytest.mark.parametrize("word", ["approve", "reject", "withdraw"])
def test_what_becomes_of_a_source_ends_a_merge_before_a_round_takes_it_up(desk, pair, word):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    said(desk, word, pair[0])
    ended = review(desk, made.id)
    assert (ended.waits, ended.decision.decision, ended.decision.by) == (False, "withdraw", "Ada")
    assert not_taken_up(desk.ledger, desk.store, "round-0003", NEXT + timedelta(days=1)) == []
    (third,) = a_round(desk, 4, "beta")
    with pytest.raises(DecisionError, match="only patches that wait are merged"):
        merge(desk, made.id, third, by="Bob", at=NEXT)


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_no_policy_approves_a_merge_whose_source_was_decided_on_since(desk, pair, word):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    a_round(desk, 3, made=[made], created=NEXT)
    said(desk, word, pair[0], at=NEXT)
    frames = [desk.store.read([asset], "round-0003") for asset in ("skill_patches", "patch_evaluation")]
    (row,) = decide("auto", *frames, desk.ledger, NEXT + timedelta(hours=1)).to_dicts()
    assert (row["decision"], row["patch_id"]) == ("withdraw", made.id)
    assert review(desk, pair[1]).waits


def test_an_approval_ends_the_sources_though_nothing_was_written_after_it(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    a_round(desk, 3, made=[made], created=NEXT)
    said(desk, "approve", made.id)
    assert [record.kind for record in desk.ledger.records()] == ["made", "decision"]
    assert {word.patch_id for word in desk.ledger.implied()} == set(pair)
    rows = lives((*desk.ledger.records(), *desk.ledger.implied())).filter(pl.col("event") == "withdraw")
    assert set(rows["patch_id"]) == set(pair)


def test_a_patch_that_another_one_needs_is_not_merged_away(desk, pair):
    frame = desk.store.read(["skill_patches"], "round-0001")
    (third,) = a_round(desk, 4, "beta")
    needing = row_patch(desk.store.read(["skill_patches"], "round-0004").row(0, named=True))[0]
    needing = needing.model_copy(update={"depends_on": (pair[0],)})
    sections = {(SKILL, name): text for name, text in desk.bank.sections(SKILL).items()}
    desk.store.write(["skill_patches"], "round-0004", to_frame([needing], sections))
    assert frame["patch_id"].to_list() == [pair[0]] and needing.id == third
    with pytest.raises(PatchError, match=f"{third} depends on {pair[0]}"):
        merge(desk, *pair, by="Ada", at=LATER)
    assert desk.ledger.records() == ()


def test_what_is_decided_is_not_merged(desk, pair):
    said(desk, "approve", pair[0])
    with pytest.raises(DecisionError, match="is approved: only patches that wait are merged"):
        merge(desk, *pair, by="Ada", at=LATER)


def test_touching_edits_make_nothing(desk, pair):
    row = desk.store.read(["skill_patches"], "round-0001")
    (other,) = a_round(desk, 3, "learning_rate")
    assert other == pair[0] and row.height == 1
    sections = desk.bank.sections(SKILL)
    bigger = propose_patches(
        pl.DataFrame(
            [{**finding("learning_rate"), "hint": hint("learning_rate", "raise", 4.0)}], schema=FINDING_SCHEMA
        ),
        {(SKILL, name): text for name, text in sections.items()},
        {SKILL: "rllm"},
        round_key="round-0004",
        created=OPENED,
        ledger=desk.ledger,
    ).patches
    frame = to_frame(bigger, {(SKILL, name): text for name, text in sections.items()})
    desk.store.write(["skill_patches"], "round-0004", frame)
    with pytest.raises(MergeConflictError, match=r"(?s)\| learning_rate.*\| learning_rate.*\| learning_rate"):
        merge(desk, pair[0], bigger[0].id, by="Ada", at=LATER)
    assert desk.ledger.records() == ()


def test_a_name_that_can_stand_in_the_record_is_needed(desk, pair):
    with pytest.raises(DecisionError, match="name of a rule"):
        merge(desk, *pair, by="policy:auto", at=LATER)
    assert desk.ledger.records() == ()


def test_a_protected_section_takes_no_merge_and_a_group_that_is_no_target_neither(desk, pair):
    manifest = desk.bank.path / "rllm" / SKILL / "manifest.yaml"
    section = review(desk, pair[0]).patch.target_section
    text = manifest.read_text()
    assert "protected: []" in text
    manifest.write_text(text.replace("protected: []", f"protected: [{section}]"))
    with pytest.raises(PatchError, match="is protected: no patch may touch it"):
        merge(desk, *pair, by="Ada", at=LATER)
    assert desk.ledger.records() == ()


def changed(desk: Desk, old: str, new: str) -> None:
    """An edit of the skill's base by hand."""
    base = desk.bank.path / "rllm" / SKILL / "base.md"
    text = base.read_text()
    assert old in text
    base.write_text(text.replace(old, new))


def test_an_approved_patch_whose_section_changed_is_made_anew_and_withdrawn(desk, pair):
    said(desk, "approve", pair[0])
    changed(desk, "max_steps: {default: 10", "max_steps: {default: 12")
    made = rebase(desk, pair[0], by="Bob", at=NEXT)
    assert made.patch.supersedes == (pair[0],) and made.decision is None and made.evidence is None
    assert [record.kind for record in desk.ledger.records()] == ["decision", "made", "decision"]
    old = review(desk, pair[0])
    assert (old.decision.decision, old.decision.by) == ("withdraw", "Bob")
    assert f"{made.patch.id} stands for it" in old.decision.reason
    assert not_taken_up(desk.ledger, desk.store, "round-0003", NEXT + timedelta(1)) == [made.patch]


def test_where_the_change_touches_its_lines_the_patch_stays_as_it_is(desk, pair):
    changed(desk, "learning_rate: {default: 2.0e-5", "learning_rate: {default: 3.0e-5")
    with pytest.raises(MergeConflictError, match="the section as it is now and"):
        rebase(desk, pair[0], by="Bob", at=NEXT)
    assert review(desk, pair[0]).waits and desk.ledger.records() == ()


def test_what_fits_or_has_ended_is_not_rebased(desk, pair):
    with pytest.raises(DecisionError, match="it can be adopted as it is"):
        rebase(desk, pair[0], by="Bob", at=NEXT)
    said(desk, "reject", pair[0])
    changed(desk, "max_steps: {default: 10", "max_steps: {default: 12")
    with pytest.raises(DecisionError, match="is rejected"):
        rebase(desk, pair[0], by="Bob", at=NEXT)


def test_a_merge_whose_section_changed_before_its_round_is_skipped_with_the_way_out(desk, pair):
    made = merge(desk, *pair, by="Ada", at=LATER).patch
    changed(desk, "beta: {default: 0.0", "beta: {default: 0.01")
    sections = {(SKILL, name): text for name, text in desk.bank.sections(SKILL).items()}
    proposals = propose_patches(
        pl.DataFrame(schema=FINDING_SCHEMA),
        sections,
        {SKILL: "rllm"},
        round_key="round-0003",
        created=NEXT,
        ledger=desk.ledger,
        made=[made],
    )
    assert proposals.patches == ()
    (skipped,) = proposals.skipped
    assert skipped.finding_id == made.id
    assert f"agent-evo patches rebase {made.id} --by NAME" in skipped.reason
    again = rebase(desk, made.id, by="Ada", at=NEXT).patch
    assert set(again.supersedes) == {made.id, *pair}
    a_round(desk, 3, made=[again], created=NEXT)
    said(desk, "approve", again.id)
    assert [review(desk, name).status for name in pair] == ["archived", "archived"]
