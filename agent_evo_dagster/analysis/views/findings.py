"""Findings as the report shows them. No detection."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import number
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.analysis.views.page import FindingList, FindingView, PatchView, Reference

MOST_SHOWN = 40


def finding_list(findings: pl.DataFrame, *, asset: str, cited: Collection[str] = ()) -> FindingList:
    """The first findings of the frame, which has the gravest first, and those of the ids `cited`.

    Raises:
        AnalysisError: the frame is not one of findings.
    """
    rows = rows_of(findings, tuple(FINDING_SCHEMA), what=asset)
    shown = [row for place, row in enumerate(rows) if place < MOST_SHOWN or row["finding_id"] in cited]
    return FindingList(tuple(map(_view, shown)), len(rows) - len(shown), asset)


def with_places(found: FindingList, places: Mapping[str, tuple[Reference, ...]]) -> FindingList:
    """The findings with the places of the page that show their evidence, by finding id."""
    shown = (replace(one, places=places.get(one.finding_id, ())) for one in found.shown)
    return replace(found, shown=tuple(shown))


def with_reasons(patches: Iterable[PatchView], shown: Iterable[FindingView]) -> tuple[PatchView, ...]:
    """The patches with what the findings that they were made from say; one that is not shown has no place."""
    said = {one.finding_id: Reference(one.finding_id, f"{one.kind}: {one.summary}") for one in shown}
    return tuple(
        replace(patch, reasons=tuple(said.get(name, Reference("", name)) for name in patch.findings))
        for patch in patches
    )


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
