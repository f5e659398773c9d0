"""Findings from sessions: every detector over a round's sessions, each aimed at a section. No rule of any."""

from collections.abc import Sequence

import polars as pl

from agent_evo_dagster.analysis.detectors.protocol import SessionDetector
from agent_evo_dagster.analysis.detectors.registry import default_detectors
from agent_evo_dagster.analysis.findings import to_frame
from agent_evo_dagster.analysis.targets import suggest
from agent_evo_dagster.analysis.types import Finding
from agent_evo_dagster.analysis.view import Sessions, SkillTexts, read_sessions


def find_in_sessions(
    steps: pl.DataFrame,
    segments: pl.DataFrame,
    *,
    skills: SkillTexts | None = None,
    usage: pl.DataFrame | None = None,
    detectors: Sequence[SessionDetector] | None = None,
) -> pl.DataFrame:
    """Findings (FINDING_SCHEMA) over steps (STEP_SCHEMA) and their segments (SEGMENT_SCHEMA).

    `skills` are the texts that the sessions' skills had, by skill and section; `usage` is what messages took
    of each step, as `capture.usage.usage_by_step` gives it. Without them, nothing is found that needs them.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    return to_frame(look(read_sessions(steps, segments, skills=skills, usage=usage), detectors))


def look(sessions: Sessions, detectors: Sequence[SessionDetector] | None = None) -> list[Finding]:
    """The findings of every detector, the shipped ones unless others are given."""
    chosen = default_detectors() if detectors is None else detectors
    return [suggest(finding, sessions) for detector in chosen for finding in detector.find(sessions)]
