"""Making findings: content-hash ids, bounds, order, and the frame. No detector."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal, TypeAlias

import polars as pl

from agent_evo_dagster.analysis.types import FINDING_SCHEMA, Finding, SettingHint, Severity

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

MAX_EVIDENCE = 60  # ids that a row keeps; the count says how many calls or steps there were
MAX_SUBJECT = 300  # characters of each part
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
    subject: Sequence[str] = (),
    skill: str | None = None,
    section: str | None = None,
    hint: SettingHint | None = None,
) -> Finding:
    """A finding whose id is `f-` and the first 16 hex digits of the SHA-256 over all that it says.

    `subject` tells what it is about, in words that are the same in every session: a finding of the same kind
    and subject in other sessions is the same trouble again. It is kept in `data`.
    """
    told = {"subject": [part[:MAX_SUBJECT] for part in subject]} if subject else {}
    finding = Finding(
        finding_id="",
        origin=origin,
        kind=kind,
        severity=severity,
        summary=summary[:MAX_SUMMARY],
        evidence=tuple(dict.fromkeys(evidence)),
        count=count,
        target_skill=skill,
        target_section=section,
        confidence=round(min(1.0, max(0.0, confidence)), 4),
        hint=hint,
        data=canonical_json({**data, **told}),
    )
    return replace(finding, finding_id=_content_id(finding))


def aimed(finding: Finding, section: str, why: str) -> Finding:
    """The finding with the section that it suggests, and the reason in its data; its id is another."""
    data = json.loads(finding.data) | {"section_why": why}
    found = replace(finding, finding_id="", target_section=section, data=canonical_json(data))
    return replace(found, finding_id=_content_id(found))


def subject_of(kind: str, data: str, summary: str) -> tuple[str, ...]:
    """What makes two findings the same trouble: the kind and the subject in the data, else the summary."""
    subject = json.loads(data).get("subject")
    return (kind, *map(str, subject)) if isinstance(subject, list) and subject else (kind, summary)


def canonical_json(value: Json) -> str:
    """JSON text with sorted keys and without NaN: the same value gives the same bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """The findings as rows of FINDING_SCHEMA, the gravest first, in an order that the content decides."""
    return pl.DataFrame([_row(finding) for finding in ordered(findings)], schema=FINDING_SCHEMA)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, the gravest first, in an order that the content decides."""
    return sorted(findings, key=_order)


def _order(finding: Finding) -> tuple[int, str, float, int, str]:
    rank = _RANK[finding.severity]
    return rank, finding.kind, -finding.confidence, -finding.count, finding.finding_id


def _row(finding: Finding) -> dict[str, object]:
    hint = None if finding.hint is None else canonical_json(asdict(finding.hint))
    return asdict(finding) | {
        "severity": finding.severity.value,
        "evidence": list(finding.evidence[:MAX_EVIDENCE]),
        "hint": hint,
    }


def _content_id(finding: Finding) -> str:
    content = _row(finding) | {"evidence": list(finding.evidence)}
    del content["finding_id"]
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return f"f-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
