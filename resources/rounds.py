"""The rounds as Dagster sees them: manifests, and the folders that belong to them."""

from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import ApprovalPolicy


class RoundsResource(dg.ConfigurableResource[Any]):
    """The rounds below `home`."""

    home: str
    policy: str = "auto"

    def manifest(self, context: dg.AssetExecutionContext) -> RoundManifest:
        """The manifest of the round that is being materialised."""
        return self.store().load(context.partition_key)

    def store(self) -> RoundStore:
        """All manifests."""
        return RoundStore(self.path("rounds"))

    def policy_of(self, manifest: RoundManifest) -> ApprovalPolicy:
        """Who decides: a person where the round or the settings of today say so, so `manual` stops all."""
        return "manual" if "manual" in (manifest.policy, self.policy) else "auto"

    def path(self, *parts: str) -> Path:
        """A path below the home."""
        return Path(self.home).joinpath(*parts)

    def relative(self, path: Path) -> str:
        """`path` relative to the home: what is stored names no machine."""
        return path.relative_to(self.home).as_posix()
