"""The seam between numbers and verdict."""

from typing import Protocol

from agent_evo_dagster.patches.evidence import Measured
from agent_evo_dagster.patches.types import GateVerdict


class Acceptance(Protocol):
    """A rule that turns a comparison into a verdict."""

    @property
    def name(self) -> str:
        """What the evidence calls it."""

    def verdict(self, measured: Measured) -> tuple[GateVerdict, str]:
        """The verdict and its reason, in words with the numbers."""
