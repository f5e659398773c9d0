"""Making findings: content-hash ids, bounds, order, and the frame. No detector."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal, TypeAlias

import polars as pl

from agent_evo_dagster.analysis.types import FINDING_SCHEMA, Finding, SettingHint, Severity

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

MAX_EVIDENCE = 60  # ids kept with a finding; the count says how many there were
MAX_SUMMARY = 400

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def make_finding(
    origin: Literal["session", "training"],
    kind: str,
    *,
    severity: Severity,
    summary: str,
    evidence: Sequence[str],
    count: int,
    confidence: float,
    data: Mapping[str, Json],
    skill: str | None = None,
    section: str | None = None,
    hint: SettingHint | None = None,
) -> Finding:
    """A finding whose id is `f-` and the first 16 hex digits of the SHA-256 over all that it says."""
    finding = Finding(
        finding_id="",
        origin=origin,
        kind=kind,
        severity=severity,
        summary=summary[:MAX_SUMMARY],
        evidence=tuple(dict.fromkeys(evidence))[:MAX_EVIDENCE],
        count=count,
        target_skill=skill,
        target_section=section,
        confidence=round(min(1.0, max(0.0, confidence)), 4),
        hint=hint,
        data=canonical_json(data),
    )
    return replace(finding, finding_id=_content_id(finding))


def canonical_json(value: Json) -> str:
    """JSON text with sorted keys and without NaN: the same value gives the same bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """The findings as rows of FINDING_SCHEMA, the gravest first, in an order that the content decides."""
    ordered = sorted(findings, key=_order)
    return pl.DataFrame([_row(finding) for finding in ordered], schema=FINDING_SCHEMA)


def _order(finding: Finding) -> tuple[int, str, float, int, str]:
    rank = _RANK[finding.severity]
    return rank, finding.kind, -finding.confidence, -finding.count, finding.finding_id


def _row(finding: Finding) -> dict[str, object]:
    hint = None if finding.hint is None else canonical_json(asdict(finding.hint))
    return asdict(finding) | {
        "severity": finding.severity.value,
        "evidence": list(finding.evidence),
        "hint": hint,
    }


def _content_id(finding: Finding) -> str:
    content = _row(finding)
    del content["finding_id"]
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return f"f-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
