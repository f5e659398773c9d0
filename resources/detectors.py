"""The session detectors as Dagster sees them: the shipped ones, and a user's own by import path."""

from typing import Any

import dagster as dg

from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.detectors.registry import detectors


class DetectorsResource(dg.ConfigurableResource[Any]):
    """The shipped detectors and those that `own` names, as `package.module:Class`."""

    own: list[str]

    def chosen(self) -> tuple[SessionDetector, ...]:
        """All of them, in the order in which they look.

        Raises:
            AnalysisError: one of `own` cannot be loaded.
        """
        return detectors(self.own)
