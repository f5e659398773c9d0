"""No gate: the control that a gate is compared with. Never the rule of a round."""

from dataclasses import dataclass

from agent_evo_dagster.patches.evidence import Measured
from agent_evo_dagster.patches.types import GateVerdict


@dataclass(frozen=True, slots=True)
class Ungated:
    """Accept whatever was measured."""

    name: str = "ungated"

    def verdict(self, measured: Measured) -> tuple[GateVerdict, str]:
        """Always accept, and say that nothing was asked."""
        return GateVerdict.ACCEPT, f"accepted without a gate; the difference was {measured.difference:+.3f}"
