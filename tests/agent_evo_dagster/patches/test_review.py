"""A review tells where a patch is in its life."""

from datetime import UTC, datetime

import pytest

from agent_evo_dagster.patches.gate import needs_person, not_probed
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.review import Review, newest
from agent_evo_dagster.patches.types import GateVerdict, PatchStatus
from tests.agent_evo_dagster.patches.material import a_patch

APPROVED = DecisionRecord(
    patch_id="p",
    at=datetime(2026, 1, 1, tzinfo=UTC),
    diff_hash="d",
    decision="approve",
    by="Ada",
    gate_verdict=None,
    reason="good",
    round=None,
)


@pytest.mark.parametrize(
    ("decision", "adopted", "rolled_back", "status"),
    [
        (None, False, False, PatchStatus.PROPOSED),
        (APPROVED, False, False, PatchStatus.APPROVED),
        (APPROVED, True, False, PatchStatus.ACTIVE),
        (APPROVED, False, True, PatchStatus.DEPRECATED),
        (APPROVED.model_copy(update={"decision": "reject"}), False, False, PatchStatus.REJECTED),
        (APPROVED.model_copy(update={"decision": "withdraw"}), False, False, PatchStatus.ARCHIVED),
        (APPROVED.model_copy(update={"decision": "expire"}), False, False, PatchStatus.ARCHIVED),
    ],
)
def test_the_status_follows_the_record(
    decision: DecisionRecord | None, adopted: bool, rolled_back: bool, status: PatchStatus
) -> None:
    review = Review("round-0001", a_patch(), "", "", "{}", None, decision, adopted, rolled_back)
    assert review.status is status


def test_the_newest_evidence_holds_but_a_replay_undoes_no_rejection_of_another_judge() -> None:
    replayed = needs_person(a_patch()).model_copy(update={"judge": "replay"})
    worse = replayed.model_copy(update={"verdict": GateVerdict.REJECT})
    liked = replayed.model_copy(update={"judge": "llm"})
    assert newest(None, replayed) == newest(liked, replayed) == newest(worse, replayed) == replayed
    for verdict in (GateVerdict.REJECT, GateVerdict.REJECT_UNVERIFIED):
        rejected = not_probed(a_patch(), "why").model_copy(update={"judge": "llm", "verdict": verdict})
        assert newest(rejected, replayed) == rejected
