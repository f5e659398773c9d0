"""The seam of session detectors. No rule of any one."""

from collections.abc import Sequence
from typing import Protocol

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.types import Finding


class SessionDetector(Protocol):
    """One rule over the calls of a round's sessions."""

    @property
    def name(self) -> str:
        """The kind that its findings carry."""
        ...

    def find(self, calls: Sequence[Call]) -> list[Finding]:
        """Findings over `calls`, which come in the order of trajectory and index."""
        ...
