"""What the record of decisions tells of each patch: one row for each thing that happened to it, in order."""

from datetime import timedelta

from agent_evo_dagster.patches.life import LIFE_SCHEMA, lives
from agent_evo_dagster.patches.records import (
    AdoptionRecord,
    ConsentRecord,
    DecisionRecord,
    MadeRecord,
    PackageRecord,
    RollbackRecord,
)
from tests.agent_evo_dagster.patches.material import OPENED

HASH = "0" * 64
SAID = {"patch_id": "p-a", "diff_hash": HASH, "gate_verdict": None, "round": "round-0001", "reason": "seen"}
WENT_BACK = {"skill": "s", "before": HASH, "after": HASH, "reason": "worse"}
MADE = {"document": "", "base": "", "sources": {"p-x": HASH, "p-y": HASH}}


def at(hour: int):
    return {"at": OPENED + timedelta(hours=hour)}


def test_a_patch_is_followed_from_the_first_word_to_the_last():
    records = [
        MadeRecord(patch_id="p-a", by="Ada", **MADE, **at(0)),
        ConsentRecord(by="Ada", **SAID, **at(1)),
        DecisionRecord(decision="approve", by="Bea", **SAID, **at(2)),
        AdoptionRecord(patch_id="p-a", decision_hash=HASH, compiled={}, **at(3)),
        RollbackRecord(
            round="round-0002", removed=("p-a",), restored=(), by="policy:regression", **WENT_BACK, **at(4)
        ),
        RollbackRecord(removed=(), restored=("p-a",), by="Ada", **WENT_BACK, **at(5)),
    ]
    found = lives(records)
    assert found.schema == LIFE_SCHEMA
    assert found.select("event", "by", "reason", "round").rows() == [
        ("make", "Ada", "of p-x, p-y", None),
        ("consent", "Ada", "seen", None),
        ("approve", "Bea", "seen", None),
        ("adopt", None, None, None),
        ("take_out", "policy:regression", "worse", "round-0002"),
        ("put_back", "Ada", "worse", None),
    ]
    assert found["at"].is_sorted() and set(found["patch_id"]) == {"p-a"}


def test_a_rollback_is_told_of_each_patch_and_what_is_no_patch_of_none():
    back = RollbackRecord(removed=("p-a", "p-b"), restored=("p-c",), by="Ada", **WENT_BACK, **at(1))
    about = {"slot": "stable", "action": "freeze", "before": None, "after": "stable/v1", "sha256": HASH}
    package = PackageRecord(by="Ada", reason="first", **about, **at(2))
    found = lives([back, package])
    assert found.select("patch_id", "event").rows() == [
        ("p-a", "take_out"), ("p-b", "take_out"), ("p-c", "put_back"),
    ]  # fmt: skip
    assert lives([]).is_empty()
