"""The random seeds of a round, all from the one that it was opened with. Not what they are used for."""

import hashlib

from agent_evo_dagster.rounds.types import RoundManifest


def training_seed(manifest: RoundManifest) -> int:
    """The seed of the round's training: another in each round, so that each meets new problems."""
    return _derived(manifest, "training")


def probe_seeds(manifest: RoundManifest, count: int) -> tuple[int, ...]:
    """The seeds of paired short trainings, apart from those of any training of the round."""
    return tuple(_derived(manifest, f"probe-{index}") for index in range(count))


def _derived(manifest: RoundManifest, purpose: str) -> int:
    """A seed in [0, 2**31) that depends on the round's seed, its number and the purpose alone."""
    text = f"{manifest.seed}/{manifest.number}/{purpose}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
