"""Findings as the report shows them. No detection."""

import json

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.analysis.views.page import FindingList, FindingView

MOST_SHOWN = 40


def finding_list(findings: pl.DataFrame, *, asset: str) -> FindingList:
    """The first findings of the frame, which has the gravest first.

    Raises:
        AnalysisError: the frame is not one of findings.
    """
    rows = rows_of(findings, tuple(FINDING_SCHEMA), what=asset)
    return FindingList(tuple(map(_view, rows[:MOST_SHOWN])), max(0, len(rows) - MOST_SHOWN), asset)


def _view(row: dict[str, object]) -> FindingView:
    skill, section = row["target_skill"], row["target_section"]
    confidence, evidence = row["confidence"], row["evidence"]
    return FindingView(
        finding_id=str(row["finding_id"]),
        severity=str(row["severity"]),
        kind=str(row["kind"]),
        summary=str(row["summary"]),
        count=row["count"] if isinstance(row["count"], int) else 0,
        confidence=number(confidence, 2) if isinstance(confidence, float) else "n/a",
        target="no skill" if skill is None else f"{skill}/{section}" if section else str(skill),
        hint=_hint(row["hint"]),
        evidence=tuple(map(str, evidence)) if isinstance(evidence, list) else (),
    )


def _hint(text: object) -> str:
    if not isinstance(text, str):
        return ""
    hint = json.loads(text)
    return f"{hint['direction']} {hint['setting']} by a factor of {number(hint['factor'])}"
