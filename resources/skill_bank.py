"""The skill bank as Dagster sees it: the living one, and the ones that rounds read."""

from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.registry import Registry, read_registry


class SkillBankResource(dg.ConfigurableResource[Any]):
    """The bank at `path` (`template` before the first round); `snapshots` holds what rounds read."""

    path: str
    template: str
    snapshots: str

    def living(self) -> SkillBank:
        """The bank as it is now: the one that adoption writes."""
        return SkillBank.open(Path(self.path))

    def content_hash(self) -> str:
        """Hash of the bank that the next round reads."""
        bank = Path(self.path)
        return SkillBank.open(bank if bank.exists() else Path(self.template)).content_hash()

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

    def packages(self) -> Registry:
        """The registry of the bank's packages; empty before the first."""
        return read_registry(Path(self.path))

    def ledger(self) -> Ledger:
        """The record of decisions, kept with the bank."""
        return ledger_of(Path(self.path))
