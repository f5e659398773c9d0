"""Two people must approve where that is asked for; what waits too long or is taken back ends on record."""

import multiprocessing
from datetime import timedelta

import pytest

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.chain import writing
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.decisions import (
    Terms,
    approve_as_one,
    decide,
    reject,
    require_approved,
    withdraw,
)
from agent_evo_dagster.patches.gate import judge_patches
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.policies import people_needed, strictest
from agent_evo_dagster.patches.propose import to_frame
from agent_evo_dagster.patches.records import ConsentRecord, DecisionRecord
from agent_evo_dagster.patches.types import GateVerdict
from tests.agent_evo_dagster.patches.material import OPENED, a_patch, rollouts

NOW = OPENED + timedelta(days=1)


@pytest.fixture
def patch(propose, finding):
    return propose(finding()).patches[0]


@pytest.fixture
def frames(patch, sections):
    patches = to_frame([patch], sections)
    return patches, judge_patches(patches, {patch.id: rollouts([0.25] * 40, [0.75] * 40)})


def says(ledger, patch, name, *, people=2, at=NOW):
    return approve_as_one(
        ledger, patch, gate=GateVerdict.ACCEPT, by=name, reason="seen", at=at, people=people
    )


def row(policy, frames, ledger, *, now=NOW, **terms):
    return decide(policy, *frames, ledger, now, terms=Terms(**terms)).row(0, named=True)


def test_one_of_two_people_is_not_enough_and_the_other_is_asked(frames, patch, ledger):
    assert isinstance(says(ledger, patch, "Ada"), ConsentRecord)
    found = row("two_person", frames, ledger)
    assert found["decision"] == "wait"
    assert found["reason"].startswith("Ada approved; another person must")
    with pytest.raises(DecisionError, match="holds no decision"):
        require_approved(ledger, patch, people=2)


def test_two_different_people_approve(frames, patch, ledger):
    says(ledger, patch, "Ada")
    assert isinstance(says(ledger, patch, "Bob"), DecisionRecord)
    assert ledger.approvers(patch.id, diff_hash(patch)) == ("Ada", "Bob")
    assert row("two_person", frames, ledger)["decision"] == "approve"
    assert require_approved(ledger, patch, people=2).by == "Bob"
    assert says(ledger, patch, "Cleo") == ledger.records()[-1]  # two were enough
    assert len(ledger.records()) == 2


@pytest.mark.parametrize("name", ["Ada", " ada ", "ADA", "Ａｄａ"])
def test_one_person_under_two_spellings_is_one(patch, ledger, name):
    first = says(ledger, patch, "Ada")
    assert says(ledger, patch, name) == first
    assert len(ledger.records()) == 1


def test_one_who_rejects_ends_it(frames, patch, ledger):
    says(ledger, patch, "Ada")
    reject(ledger, patch, gate=GateVerdict.ACCEPT, by="Bob", reason="no", at=NOW)
    assert row("two_person", frames, ledger)["decision"] == "reject"
    with pytest.raises(DecisionError, match="Bob decided 'reject'"):
        says(ledger, patch, "Cleo")


def test_a_policy_is_no_person(frames, patch, ledger):
    assert row("auto", frames, ledger)["decision"] == "approve"
    found = row("two_person", frames, ledger)
    assert (found["decision"], found["by"]) == ("wait", "policy:two_person")
    assert "policy:auto approved; 2 different people must" in found["reason"]
    says(ledger, patch, "Ada")
    assert row("two_person", frames, ledger)["decision"] == "wait"
    with pytest.raises(DecisionError, match="Ada approved; 2 different people must"):
        require_approved(ledger, patch, people=2)
    says(ledger, patch, "Bob")
    assert row("two_person", frames, ledger)["decision"] == "approve"
    assert require_approved(ledger, patch, people=2).by == "policy:auto"


def test_what_is_in_the_bank_already_needs_nobody_more(frames, patch, ledger):
    ledger.record_adoption(says(ledger, patch, "Ada", people=1), {}, at=NOW)
    assert row("two_person", frames, ledger)["decision"] == "approve"


def test_an_approval_of_other_bytes_is_no_second_one(patch, ledger):
    says(ledger, patch, "Ada")
    other = patch.model_copy(update={"supersedes": ("p-" + "1" * 16,)})
    assert isinstance(says(ledger, other, "Bob"), ConsentRecord)


def test_the_stricter_policy_of_round_and_settings_holds():
    assert strictest("auto", "manual") == "manual"
    assert strictest("two_person", "manual", "auto") == "two_person"
    assert [people_needed(name) for name in ("auto", "manual", "two_person")] == [0, 1, 2]


def test_a_patch_that_nobody_decides_expires_on_record(frames, patch, ledger):
    expiry = timedelta(days=14)
    assert row("manual", frames, ledger, expiry=expiry)["decision"] == "wait"
    assert ledger.records() == ()
    found = row("manual", frames, ledger, now=OPENED + expiry, expiry=expiry)
    assert (found["decision"], found["by"]) == ("expire", "policy:expiry")
    assert "nobody decided within 14 days of 2026-01-02" in found["reason"]
    assert ledger.decision(patch.id).decision == "expire"
    with pytest.raises(DecisionError, match="policy:expiry decided 'expire'"):
        says(ledger, patch, "Ada")
    with pytest.raises(DecisionError, match="policy:expiry ended the wait of it"):
        require_approved(ledger, patch)


def test_one_consent_alone_expires_too_and_what_is_decided_does_not(frames, patch, ledger):
    late = {"now": OPENED + timedelta(days=30), "expiry": timedelta(days=1)}
    says(ledger, patch, "Ada")
    assert row("two_person", frames, ledger, **late)["decision"] == "expire"
    other = Ledger(ledger.path.parent / "other.jsonl")
    says(other, patch, "Ada", people=1)
    assert row("manual", frames, other, **late)["decision"] == "approve"


def test_an_expired_idea_may_be_proposed_for_another_text_unlike_a_rejected_one(
    propose, finding, sections, frames, ledger
):
    row("manual", frames, ledger, now=OPENED + timedelta(days=2), expiry=timedelta(days=1))
    later = {"created": OPENED + timedelta(days=3), "round_key": "round-0002"}
    assert "was decided before: expire" in propose(finding(), **later).skipped[0].reason
    key = ("rllm-config", "optimisation")
    changed = {**sections, key: sections[key].replace("One value", "one value") + "\nMore.\n"}
    assert len(propose(finding(), sections=changed, **later).patches) == 1


def test_an_approval_is_withdrawn_until_it_is_carried_out(frames, patch, ledger):
    says(ledger, patch, "Ada", people=1)
    asked = {"gate": GateVerdict.ACCEPT, "by": "Bob", "reason": "its section is another now", "at": NOW}
    record = withdraw(ledger, patch, **asked)
    assert withdraw(ledger, patch, **asked) == record
    found = row("auto", frames, ledger)
    assert (found["decision"], found["by"]) == ("withdraw", "Bob")
    with pytest.raises(DecisionError, match="Bob withdrew it"):
        require_approved(ledger, patch)
    with pytest.raises(DecisionError, match="was withdrawn by Bob: it cannot be adopted"):
        ledger.record_adoption(record, {}, at=NOW)
    with pytest.raises(DecisionError, match="Bob decided 'withdraw'"):
        says(ledger, patch, "Ada", people=1)


def test_what_was_adopted_or_rejected_is_not_withdrawn(patch, ledger):
    asked = {"gate": None, "by": "Bob", "reason": "no", "at": NOW}
    ledger.record_adoption(says(ledger, patch, "Ada", people=1), {}, at=NOW)
    with pytest.raises(DecisionError, match=r"was adopted: it cannot be withdrawn\. .*skills rollback"):
        withdraw(ledger, patch, **asked)
    other = a_patch()
    reject(ledger, other, **asked)
    with pytest.raises(DecisionError, match="Bob decided 'reject'"):
        withdraw(ledger, other, **asked)


def test_a_policy_approves_nothing_that_can_no_longer_be_adopted(frames, patch, ledger):
    why = {patch.id: "optimisation of rllm-config was changed since it was made"}
    assert why[patch.id] in row("manual", frames, ledger, changed=why)["reason"]
    found = row("auto", frames, ledger, changed=why)
    assert (found["decision"], found["by"]) == ("withdraw", "policy:auto")
    assert found["reason"].startswith(why[patch.id])


def _act(path, name, barrier, results):
    barrier.wait()
    try:
        if name.startswith("withdraw"):
            results.put(withdraw(Ledger(path), a_patch(), gate=None, by=name, reason="mine", at=NOW).by)
        else:
            says(Ledger(path), a_patch(), name)
            results.put(name)
    except DecisionError as error:
        results.put(str(error))


def test_people_who_approve_and_withdraw_at_once_leave_one_consistent_record(tmp_path):
    context, path = multiprocessing.get_context("spawn"), tmp_path / "decisions.jsonl"
    names = ["Ada", "Bob", "Cleo", "withdraw-Dan"]
    barrier, results = context.Barrier(len(names)), context.Queue()
    processes = [context.Process(target=_act, args=(path, name, barrier, results)) for name in names]
    for process in processes:
        process.start()
    answers = [results.get(timeout=60) for _ in names]
    for process in processes:
        process.join(timeout=60)
    ledger = Ledger(path)
    records = ledger.records()
    last = ledger.decision(a_patch().id)
    assert last.decision == "withdraw" and records[-1] == last
    approved = [record for record in records if getattr(record, "decision", "") == "approve"]
    assert len(approved) <= 1
    assert all(answer in names or "withdraw-Dan decided 'withdraw'" in answer for answer in answers)


def test_a_record_of_before_rounds_could_go_back_is_still_read(ledger):
    old = {
        "kind": "rollback", "at": "2026-01-02T00:00:00Z", "skill": "rllm-config", "before": None,
        "after": "a" * 64, "removed": ["p-1"], "restored": [], "by": "Ada", "reason": "worse",
    }  # fmt: skip
    with writing(ledger.path) as writer:
        writer.append(old)
    assert ledger.records()[0].round is None
    assert ledger.rollback("p-1").by == "Ada"
