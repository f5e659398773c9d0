"""The `rules` analyst: the deterministic proposals of patches, without a model and without a network."""

from agent_evo_dagster.analysts.protocol import Tell
from agent_evo_dagster.analysts.types import Analysis, AnalystRun, Material

NAME = "rules"


class Rules:
    """Leaves the findings to the rules in `patches`."""

    def analyse(self, material: Material, tell: Tell) -> Analysis:  # noqa: ARG002 (the protocol's)
        """Nothing is drafted: the proposals are made of the findings themselves."""
        return Analysis(None, (), AnalystRun(NAME, None))
