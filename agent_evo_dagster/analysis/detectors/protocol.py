"""The seam of session detectors. No rule of any one."""

from typing import Protocol

from agent_evo_dagster.analysis.types import Finding
from agent_evo_dagster.analysis.view import Sessions


class SessionDetector(Protocol):
    """One rule over a round's sessions."""

    @property
    def name(self) -> str:
        """The kind that its findings carry, unless the rule tells several apart."""
        ...

    def find(self, sessions: Sessions) -> list[Finding]:
        """Findings over the sessions, whose calls come in the order of trajectory and index."""
        ...
