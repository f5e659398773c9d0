"""The rounds as Dagster sees them: manifests, and the folders that belong to them."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field, TypeAdapter

from agent_evo_dagster.patches.decisions import Terms
from agent_evo_dagster.patches.policies import strictest
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.settings import ApprovalPolicy, RollbackScope


class RoundsResource(dg.ConfigurableResource[Any]):
    """The rounds below `home`."""

    home: str
    policy: str = "auto"
    expiry_days: float | None = None
    rollback: str = "auto"
    redact: list[str] = Field([], description="Kinds of personal data that go as secrets do.")

    def manifest(self, context: dg.AssetExecutionContext) -> RoundManifest:
        """The manifest of the round that is being materialised."""
        return self.store().load(context.partition_key)

    def store(self) -> RoundStore:
        """All manifests."""
        return RoundStore(self.path("rounds"))

    def policy_of(self, manifest: RoundManifest) -> ApprovalPolicy:
        """Who decides: what the round or the settings of today say, the stricter of both."""
        return strictest(manifest.policy, self.policy)

    def scope(self) -> RollbackScope:
        """What a regression takes out."""
        return TypeAdapter[RollbackScope](RollbackScope).validate_python(self.rollback)

    def terms(self, changed: Mapping[str, str]) -> Terms:
        """What else holds for decisions; `changed` says which patches can no longer be adopted, and why."""
        return Terms(None if self.expiry_days is None else timedelta(days=self.expiry_days), changed)

    def path(self, *parts: str) -> Path:
        """A path below the home."""
        return Path(self.home).joinpath(*parts)

    def relative(self, path: Path) -> str:
        """`path` relative to the home: what is stored names no machine."""
        return path.relative_to(self.home).as_posix()
