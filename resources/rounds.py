"""The rounds as Dagster sees them: manifests, and the folders that belong to them."""

from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest


class RoundsResource(dg.ConfigurableResource[Any]):
    """The rounds below `home`."""

    home: str

    def manifest(self, context: dg.AssetExecutionContext) -> RoundManifest:
        """The manifest of the round that is being materialised."""
        return self.store().load(context.partition_key)

    def store(self) -> RoundStore:
        """All manifests."""
        return RoundStore(self.path("rounds"))

    def path(self, *parts: str) -> Path:
        """A path below the home."""
        return Path(self.home).joinpath(*parts)

    def relative(self, path: Path) -> str:
        """`path` relative to the home: what is stored names no machine."""
        return path.relative_to(self.home).as_posix()
