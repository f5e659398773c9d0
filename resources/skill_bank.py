"""The skill bank as Dagster sees it: the living one, and the ones that rounds read."""

from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.patches.decisions import Ledger
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank


class SkillBankResource(dg.ConfigurableResource):
    """The bank at `path` (made from `template` when first opened), and content-addressed copies in `snapshots`."""

    path: str
    template: str
    snapshots: str

    def living(self) -> SkillBank:
        """The bank as it is now: the one that adoption writes."""
        return SkillBank.open(Path(self.path))

    def read_by(self, manifest: RoundManifest) -> SkillBank:
        """The bank as the round read it.

        Raises:
            RoundError: its bytes are gone.
        """
        folder = Path(self.snapshots) / manifest.bank_hash
        if not folder.is_dir():
            raise RoundError(
                f"{manifest.key} read the bank {manifest.bank_hash[:12]}, and its copy {folder} is gone. "
                "Restore that folder from a backup, or open a new round."
            )
        return SkillBank.open(folder)

    def ledger(self) -> Ledger:
        """The record of decisions, kept with the bank."""
        return Ledger(Path(self.path) / "decisions.jsonl")
