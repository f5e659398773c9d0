"""Round manifests: written once, found by key, ordered by number."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.keys import round_key
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest


def manifest(number: int) -> RoundManifest:
    return RoundManifest(
        key=round_key(number),
        number=number,
        opened_at=datetime(2026, 1, 2, tzinfo=UTC),
        seed=3,
        request="train a calculator agent",
        overrides={"learning_rate": 1e-4},
        policy="auto",
        include_open_sessions=False,
        slices=(),
        bank_hash="b" * 64,
        parent=None,
    )


def test_a_saved_manifest_reads_back_equal(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    store.save(manifest(1))
    assert store.load("round-0001") == manifest(1)


def test_a_manifest_is_never_written_twice(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    store.save(manifest(1))
    with pytest.raises(RoundError, match="open already"):
        store.save(manifest(1).model_copy(update={"seed": 4}))
    assert store.load("round-0001").seed == 3


def test_the_next_key_follows_the_highest_number(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    assert store.next_key() == "round-0001"
    for number in (9, 10, 2):
        store.save(manifest(number))
    assert store.keys() == ["round-0002", "round-0009", "round-0010"]
    assert store.next_key() == "round-0011"


def test_earlier_rounds_are_those_with_a_lower_number(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    for number in (9, 10, 11):
        store.save(manifest(number))
    assert [item.key for item in store.earlier("round-0010")] == ["round-0009"]


def test_an_unknown_round_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    with pytest.raises(RoundError, match="No round is open yet"):
        store.load("round-0007")
    store.save(manifest(1))
    with pytest.raises(RoundError, match="Open rounds: round-0001"):
        store.load("round-0007")


def test_a_damaged_manifest_names_its_file(tmp_path: Path) -> None:
    store = RoundStore(tmp_path)
    store.save(manifest(1)).write_text('{"key": 1}')
    with pytest.raises(RoundError, match=r"manifest\.json of round-0001 cannot be read"):
        store.load("round-0001")
