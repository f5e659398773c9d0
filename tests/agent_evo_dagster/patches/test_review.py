"""A review tells where a patch is in its life."""

from datetime import UTC, datetime

import pytest

from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.review import Review
from agent_evo_dagster.patches.types import PatchStatus
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
