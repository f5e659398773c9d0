"""Findings from sessions: every detector over the calls of a round. No rule of any one detector."""

from collections.abc import Sequence

import polars as pl

from agent_evo_dagster.analysis.calls import read_calls
from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.detectors.registry import default_detectors
from agent_evo_dagster.analysis.findings import to_frame


def find_in_sessions(
    steps: pl.DataFrame, segments: pl.DataFrame, *, detectors: Sequence[SessionDetector] | None = None
) -> pl.DataFrame:
    """Findings (FINDING_SCHEMA) over steps (STEP_SCHEMA) and their segments (SEGMENT_SCHEMA).

    Raises:
        AnalysisError: a frame lacks a column.
    """
    calls = read_calls(steps, segments)
    chosen = default_detectors() if detectors is None else detectors
    return to_frame(finding for detector in chosen for finding in detector.find(calls))
