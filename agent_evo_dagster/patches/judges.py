"""The seam of the gate: what a judge is given, and what it gives back. No judge."""

from dataclasses import dataclass
from typing import Protocol

from agent_evo_dagster.patches.change import SettingsChange
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.patches.types import Patch


@dataclass(frozen=True, slots=True)
class Case:
    """One patch, what it touches, and the text that it was made against."""

    patch: Patch
    settings: SettingsChange | None  # None: it changes more than defaults of settings
    base: str


class Judge(Protocol):
    """Turns what was measured of a patch into evidence with a verdict; it runs nothing."""

    @property
    def name(self) -> str:
        """What the evidence calls it."""

    def takes(self, case: Case) -> bool:
        """Whether it judges patches that touch what this one touches; the texts say so, not the patch."""

    def judge(self, case: Case) -> GateEvidence:
        """The evidence; the same material gives the same bytes."""
