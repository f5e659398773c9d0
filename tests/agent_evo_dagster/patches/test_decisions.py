"""A patch is decided once, on record, and only what was approved is let through."""

import multiprocessing
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from agent_evo_dagster.analysis.deciding import to_decide
from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.chain import append_once, writing
from agent_evo_dagster.patches.decisions import Terms, approve, decide, reject, require_approved
from agent_evo_dagster.patches.gate import judge_patches
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.propose import to_frame
from agent_evo_dagster.patches.records import AdoptionRecord, DecisionRecord, RollbackRecord, payload
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, PATCH_EVALUATION_SCHEMA, GateVerdict
from tests.agent_evo_dagster.patches.material import a_patch, rollouts

NOW = datetime(2026, 1, 3, tzinfo=UTC)


@pytest.fixture
def patch(propose, finding):
    return propose(finding()).patches[0]


@pytest.fixture
def patches(patch, sections):
    return to_frame([patch], sections)


def evaluation(patches, verdict):
    good, flat = rollouts([0.25] * 40, [0.75] * 40), rollouts([0.5] * 40, [0.5] * 40)
    rows = {"accept": good, "reject": flat, "reject_unverified": good.head(100)}
    judged = judge_patches(patches, {patches["patch_id"][0]: rows[verdict]} if verdict in rows else {})
    assert judged["verdict"].to_list() == [verdict]
    return judged


@pytest.mark.parametrize(
    ("verdict", "decision"), [("accept", "approve"), ("reject", "reject"), ("reject_unverified", "reject")]
)
def test_auto_follows_the_gate_on_settings(patches, ledger, verdict, decision):
    frame = decide("auto", patches, evaluation(patches, verdict), ledger, NOW)
    assert frame.schema == PATCH_DECISION_SCHEMA
    row = frame.row(0, named=True)
    assert (row["decision"], row["gate_verdict"], row["by"]) == (decision, verdict, "policy:auto")
    assert row["decided_at"] == NOW
    record = ledger.decision(row["patch_id"])
    assert (record.hash, record.round) == (row["record_hash"], "round-0001")


@pytest.mark.parametrize("verdict", [*GateVerdict, None])
def test_the_lines_that_decide_work_as_they_are_printed(prose, ledger, verdict):
    first, second = to_decide("p-1", verdict)
    approving = first if " approve " in first else second
    given = {"gate": verdict, "by": "Ada", "reason": "ok", "at": NOW, "override": "--override" in approving}
    assert approve(ledger, prose, **given).decision == "approve"
    assert {"approve", "reject"} == {line.split()[2] for line in (first, second)}


def test_an_edit_that_a_rule_rejects_stays_rejected_where_its_section_changed(patches, ledger):
    terms = Terms(changed=dict.fromkeys(patches["patch_id"], "its section was changed"))
    row = decide("auto", patches, evaluation(patches, "reject"), ledger, NOW, terms=terms).row(0, named=True)
    assert row["decision"] == "reject"


def test_auto_leaves_prose_to_a_person(prose, sections, ledger):
    patches = to_frame([prose], sections)
    frame = decide("auto", patches, evaluation(patches, "needs_person"), ledger, NOW)
    row = frame.row(0, named=True)
    assert (row["decision"], row["decided_at"], row["record_hash"]) == ("wait", None, None)
    assert f"agent-evo patches approve {prose.id} --by NAME --reason TEXT" in row["reason"]
    assert ledger.records() == ()


def test_auto_does_not_believe_a_row_that_calls_prose_settings(prose, sections, ledger):
    patches = to_frame([prose], sections).with_columns(settings=pl.lit('{"learning_rate": [2e-05, 0.0001]}'))
    accepted = evaluation(patches, "needs_person").with_columns(verdict=pl.lit("accept"))
    assert decide("auto", patches, accepted, ledger, NOW)["decision"].to_list() == ["wait"]


@pytest.mark.parametrize("verdict", ["accept", "reject", "reject_unverified"])
def test_manual_always_waits(patches, ledger, verdict):
    frame = decide("manual", patches, evaluation(patches, verdict), ledger, NOW)
    assert frame["decision"].to_list() == ["wait"]
    assert frame["gate_verdict"].to_list() == [verdict]
    assert ledger.records() == ()


@pytest.mark.parametrize("policy", ["auto", "manual"])
def test_deciding_again_gives_the_same_frame(patches, ledger, policy):
    judged = evaluation(patches, "accept")
    first = decide(policy, patches, judged, ledger, NOW)
    again = decide(policy, patches, judged, ledger, NOW + timedelta(days=1))
    assert first.equals(again)
    assert len(ledger.records()) == (policy == "auto")


def test_what_a_person_decided_stands_whatever_the_policy_and_the_gate_say(patches, patch, ledger):
    approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="seen", at=NOW)
    for policy, verdict in (("manual", "accept"), ("auto", "reject")):
        row = decide(policy, patches, evaluation(patches, verdict), ledger, NOW).row(0, named=True)
        assert (row["decision"], row["by"], row["reason"]) == ("approve", "Ada", "seen")
    assert len(ledger.records()) == 1


def test_a_patch_that_was_not_judged_is_an_error(patches, ledger):
    with pytest.raises(DecisionError, match="patch_evaluation"):
        decide("auto", patches, pl.DataFrame(schema=PATCH_EVALUATION_SCHEMA), ledger, NOW)


def test_no_patches_give_a_typed_frame(patches, ledger):
    judged = pl.DataFrame(schema=PATCH_EVALUATION_SCHEMA)
    assert decide("auto", patches.clear(), judged, ledger, NOW).schema == PATCH_DECISION_SCHEMA


def test_the_same_decision_twice_is_one_record(patch, ledger):
    first = approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    again = approve(
        ledger, patch, gate=GateVerdict.ACCEPT, by="Bob", reason="also", at=NOW + timedelta(days=1)
    )
    assert again == first
    assert ledger.records() == (first,)


def test_a_decided_patch_cannot_be_decided_otherwise(patch, ledger):
    approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    with pytest.raises(DecisionError, match="Ada decided 'approve' on 2026-01-03 00:00 UTC: good"):
        reject(ledger, patch, gate=GateVerdict.ACCEPT, by="Bob", reason="no", at=NOW)
    assert len(ledger.records()) == 1


@pytest.mark.parametrize("gate", [GateVerdict.REJECT, GateVerdict.REJECT_UNVERIFIED, None])
def test_approving_against_the_gate_needs_an_override_and_is_recorded(patch, ledger, gate):
    with pytest.raises(DecisionError, match="--override"):
        approve(ledger, patch, gate=gate, by="Ada", reason="I know", at=NOW)
    assert ledger.records() == ()
    assert approve(ledger, patch, gate=gate, by="Ada", reason="I know", at=NOW, override=True).override


def test_an_override_that_was_not_needed_is_not_recorded(patch, ledger):
    record = approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="ok", at=NOW, override=True)
    assert not record.override


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "--by NAME") for name in ("", "  ", "a\nb", "a\x1b[2J", "a\u202eb", "x" * 201)),
        *((f"Ada{unseen}", "--by NAME") for unseen in "\ufe0f\ufe0e\u034f\u3164\u2800\u200b\U000e0101"),
        *((blank, "--by NAME") for blank in ("\u2800", "\u3164", "...", "7")),
        *((name, "the name of a rule") for name in ("policy:auto", "Policy:Auto", "\uff50olicy:auto")),
    ],
)
def test_a_name_that_cannot_stand_in_the_record_is_refused(patch, ledger, name, said):
    with pytest.raises(DecisionError, match=said):
        approve(ledger, patch, gate=GateVerdict.ACCEPT, by=name, reason="ok", at=NOW)


@pytest.mark.parametrize("reason", ["", " \n", "a\x1b[2J", "x" * 2001])
def test_a_decision_without_a_readable_reason_is_refused(patch, ledger, reason):
    with pytest.raises(DecisionError, match="--reason TEXT"):
        reject(ledger, patch, gate=None, by="Ada", reason=reason, at=NOW)


def test_a_time_without_a_zone_is_refused(patch, ledger):
    with pytest.raises(DecisionError, match="time zone"):
        reject(ledger, patch, gate=None, by="Ada", reason="no", at=datetime(2026, 1, 1))


def test_only_an_approved_patch_is_let_through(patch, ledger):
    with pytest.raises(DecisionError, match=f"agent-evo patches approve {patch.id} --by NAME --reason TEXT"):
        require_approved(ledger, patch)
    approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    assert require_approved(ledger, patch).by == "Ada"


def test_a_patch_that_the_gate_failed_is_not_let_through_even_when_asked_for_alone(patches, patch, ledger):
    decide("auto", patches, evaluation(patches, "reject"), ledger, NOW)
    with pytest.raises(DecisionError, match="policy:auto rejected it: the gate says reject"):
        require_approved(ledger, patch)


def test_the_approval_is_about_these_bytes(patch, ledger):
    approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    require_approved(ledger, patch.model_copy(update={"source_round": "round-0002", "findings": ("f-9",)}))
    for changed in ({"body": patch.body + "\n"}, {"group": "traj"}, {"supersedes": ("p-" + "1" * 16,)}):
        other = patch.model_copy(update=changed)
        with pytest.raises(DecisionError, match="was about"):
            require_approved(ledger, other)
        with pytest.raises(DecisionError, match="was decided on as"):
            approve(ledger, other, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)


def test_an_adoption_is_recorded_once(patch, ledger):
    decision = approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    first = ledger.record_adoption(decision, {"rllm-config": "ab"}, at=NOW)
    again = ledger.record_adoption(decision, {"rllm-config": "cd"}, at=NOW + timedelta(days=1))
    assert again == first == ledger.adoption(patch.id)
    assert first.decision_hash == decision.hash
    assert [type(record) for record in ledger.records()] == [DecisionRecord, AdoptionRecord]


def test_a_rejected_patch_cannot_be_adopted(patch, ledger):
    decision = reject(ledger, patch, gate=None, by="Ada", reason="no", at=NOW)
    with pytest.raises(DecisionError, match="rejected by Ada"):
        ledger.record_adoption(decision, {}, at=NOW)


def rolled_back(patch, *, at, **lists):
    fields = {"removed": (), "restored": (), "by": "Ada", "reason": "worse", **lists}
    return payload(RollbackRecord(at=at, skill=patch.skill, before="b" * 64, after="a" * 64, **fields))


def test_a_rollback_ends_the_adoption_until_it_is_undone_and_stays_on_record(patch, ledger):
    decision = approve(ledger, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="good", at=NOW)
    adoption = ledger.record_adoption(decision, {}, at=NOW)
    append_once(ledger.path, rolled_back(patch, at=NOW, removed=(patch.id,)))
    assert ledger.adoption(patch.id) is None
    assert ledger.rollback(patch.id) == ledger.records()[-1]
    assert require_approved(ledger, patch) == decision
    append_once(ledger.path, rolled_back(patch, at=NOW, restored=(patch.id,)))
    assert ledger.adoption(patch.id) == adoption
    assert ledger.rollback(patch.id) is None
    assert len(ledger.records()) == 4


def test_a_line_that_must_be_there_is_appended_once(patch, ledger):
    line = rolled_back(patch, at=NOW, removed=(patch.id,))
    assert append_once(ledger.path, line) == append_once(ledger.path, line)
    append_once(ledger.path, rolled_back(patch, at=NOW + timedelta(seconds=1), removed=(patch.id,)))
    assert len(ledger.records()) == 2


def test_a_record_of_a_newer_version_is_an_error(ledger):
    with writing(ledger.path) as writer:
        writer.append({"kind": "vote", "patch_id": "p", "at": "2026-01-01T00:00:00Z"})
    with pytest.raises(DecisionError, match=r"Record 1 .*'vote'"):
        ledger.records()


def _approve_many_in_a_process(path, name):
    for number in range(10):
        some = a_patch(f"text {name} {number}\n")
        approve(Ledger(path), some, gate=GateVerdict.ACCEPT, by=name, reason="mine", at=NOW)


def test_many_writers_at_once_lose_nothing(tmp_path):
    context, path = multiprocessing.get_context("spawn"), tmp_path / "decisions.jsonl"
    processes = [
        context.Process(target=_approve_many_in_a_process, args=(path, name))
        for name in ("Ada", "Bob", "Cleo")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(Ledger(path).records()) == 30


def test_a_person_who_decides_while_the_policy_looks_is_no_failure_of_the_round(
    patches, patch, ledger, monkeypatch
):
    look = Ledger.decision

    def slow_look(self, patch_id):
        found = look(self, patch_id)
        if found is None:
            reject(self, patch, gate=GateVerdict.ACCEPT, by="Ada", reason="no", at=NOW)
        return found

    monkeypatch.setattr(Ledger, "decision", slow_look)
    frame = decide("auto", patches, evaluation(patches, "accept"), ledger, NOW)
    assert frame.select("decision", "by").rows() == [("reject", "Ada")]
    assert len(ledger.records()) == 1


def test_a_decision_made_meanwhile_on_other_bytes_is_not_this_patchs(patches, ledger, monkeypatch):
    settle = Ledger.settle

    def person_first(self: Ledger, wanted: DecisionRecord) -> DecisionRecord:
        settle(self, wanted.model_copy(update={"diff_hash": "0" * 64, "by": "Ada"}))
        return settle(self, wanted)

    monkeypatch.setattr(Ledger, "settle", person_first)
    with pytest.raises(DecisionError, match=r"The decision of Ada on .* was about 0{12}"):
        decide("auto", patches, evaluation(patches, "accept"), ledger, NOW)
