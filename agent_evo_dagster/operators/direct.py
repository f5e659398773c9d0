"""The operator that is no agent: the settings blocks of the compiled skills configure the training."""

from agent_evo_dagster.operators.types import Assignment


class Direct:
    """Leaves everything to the round itself."""

    def operate(self, assignment: Assignment) -> None:
        """Nothing is done."""
