"""The seam of operators. No operator."""

from typing import Protocol

from agent_evo_dagster.operators.types import Assignment, OperatorRun


class Operator(Protocol):
    """Follows the skills once."""

    def operate(self, assignment: Assignment) -> OperatorRun | None:
        """Work as the skills say; null where no agent did.

        Raises:
            ClientError: the agent could not be run, or nothing of what it did could be taken by a round.
        """
