"""The spool as Dagster sees it: where hook events lie and the key that redacts them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from agent_evo_dagster.capture.gather import Gathered, read_sources
from agent_evo_dagster.capture.redact import load_key
from agent_evo_dagster.capture.usage import read_prices, with_cost
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.rounds.store import to_slices
from agent_evo_dagster.rounds.types import RoundManifest


class SpoolResource(dg.ConfigurableResource[Any]):
    """The hook event files below `path`; the redaction key lies in `home`."""

    path: str
    home: str
    redact: list[str]  # kinds of personal data that go as secrets do
    prices: str | None = None  # JSON file of what models cost; without one, nothing has a cost

    def read(self, manifest: RoundManifest) -> Gathered:
        """The events that a round took, redacted, and the lines that were no events."""
        slices, earlier = map(to_slices, (manifest.slices, manifest.earlier))
        key = load_key(Path(self.home), personal=self.redact)
        return read_sources(Path(self.path), slices, key=key, earlier=earlier)

    def priced(self, usage: pl.DataFrame) -> pl.DataFrame:
        """Token usage with its cost, where the table of prices has the model."""
        return with_cost(usage, read_prices(Path(self.prices))) if self.prices else usage

    def files(self) -> dict[str, int]:
        """The files of the spool with their sizes in bytes, by name."""
        root = Path(self.path)
        found = sorted(root.rglob("*.jsonl"))
        return {path.relative_to(root).as_posix(): path.stat().st_size for path in found if path.is_file()}

    def version(self, files: Mapping[str, int]) -> str:
        """A hash over the names and sizes of the files: it changes when one grows."""
        return sha256_bytes(repr(sorted(files.items())).encode())
