"""Seeds of a round: repeatable, and different for each round, seed and purpose."""

from datetime import UTC, datetime

from agent_evo_dagster.rounds.keys import round_key
from agent_evo_dagster.rounds.seeds import probe_seeds, training_seed
from agent_evo_dagster.rounds.types import RoundManifest


def manifest(number: int, seed: int) -> RoundManifest:
    return RoundManifest(
        key=round_key(number),
        number=number,
        opened_at=datetime(2026, 1, 2, tzinfo=UTC),
        seed=seed,
        request="",
        overrides={},
        policy="auto",
        include_open_sessions=False,
        slices=(),
        bank_hash="b" * 64,
        parent=None,
    )


def test_no_two_rounds_seeds_or_purposes_share_a_seed() -> None:
    rounds = [manifest(number, seed) for number in range(1, 6) for seed in range(5)]
    seeds = [seed for one in rounds for seed in (training_seed(one), *probe_seeds(one, 3))]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_round_made_again_has_the_seeds_that_it_had() -> None:
    assert training_seed(manifest(2, 3)) == training_seed(manifest(2, 3))
    assert probe_seeds(manifest(2, 3), 2) == probe_seeds(manifest(2, 3), 3)[:2]
