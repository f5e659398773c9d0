"""What an id of evidence stands for: the finding, segment, step, event or session, with what holds it.

Ids stand in findings, reports and patches; each is looked up by itself or its beginning, in all rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent_evo_dagster.query.store import QueryError, literal, run_query

SHORTEST: Final = 6  # characters of an id's beginning
MOST: Final = 20  # things that one beginning may stand for


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of id: the view and the column that have it, and what is told of a row `x` of the view."""

    name: str
    view: str
    column: str
    told: str
    joined: str = ""


_KINDS: Final = (
    _Kind(
        "finding",
        "findings",
        "finding_id",
        "x.origin, x.kind, x.severity, x.summary, x.count, x.confidence, x.target_skill, x.target_section, "
        "x.evidence",
    ),
    _Kind(
        "segment",
        "segments",
        "segment_id",
        "x.session_id AS session, x.agent_id AS agent, x.kind, x.skill, x.goal, x.calls, x.failures, "
        "x.started_at AS began, x.ended_at AS ended, x.step_ids AS steps",
    ),
    _Kind(
        "step",
        "steps",
        "step_id",
        "x.session_id AS session, x.agent_id AS agent, g.segment_id AS segment, g.skill, x.kind, "
        "x.tool_name AS tool, x.outcome, x.outcome_reason AS told_by, x.started_at AS began, x.duration_ms, "
        "x.tool_input AS input, x.tool_response AS answer, x.error, x.text, x.event_ids AS events",
        "LEFT JOIN segments AS g ON g.round = x.round AND list_contains(g.step_ids, x.step_id)",
    ),
    _Kind(
        "event",
        "events",
        "event_id",
        "x.session_id AS session, g.segment_id AS segment, g.skill, s.step_id AS step, x.kind, "
        "x.tool_name AS tool, s.outcome, x.at AS at, x.tool_input AS input, x.tool_response AS answer, "
        "x.error, x.text, x.source, x.source_file, x.source_offset",
        "LEFT JOIN steps AS s ON s.round = x.round AND (list_contains(s.event_ids, x.event_id) "
        "OR list_contains(s.evidence_ids, x.event_id)) "
        "LEFT JOIN segments AS g ON g.round = x.round AND list_contains(g.event_ids, x.event_id)",
    ),
    _Kind(
        "session",
        "sessions",
        "session_id",
        "x.layer, x.first_at, x.last_at, x.events, x.calls, x.failures, x.skills",
    ),
)


@dataclass(frozen=True, slots=True)
class Traced:
    """One thing that an id stands for, as one round stored it."""

    kind: str  # "finding", "segment", "step", "event" or "session"
    id: str
    round: str
    facts: tuple[tuple[str, Any], ...]  # name and value, without those that are null


def trace(warehouse: Path, ids: Sequence[str]) -> dict[str, list[Traced]]:
    """What each of `ids` stands for, in the order given; an empty list where nothing does.

    Raises:
        QueryError: nothing is stored, or an id is too short to tell what it means.
    """
    short = [one for one in ids if len(one) < SHORTEST]
    if short:
        raise QueryError(
            f"An id, or at least {SHORTEST} characters of its beginning, was expected, not {short[0]!r}."
        )
    found: dict[str, list[Traced]] = {one: [] for one in ids}
    for kind in _KINDS:
        for traced in _rows(warehouse, kind, ids):
            for one in ids:
                if traced.id.startswith(one) and len(found[one]) < MOST:
                    found[one].append(traced)
    return {one: _exact(one, several) for one, several in found.items()}


def _exact(wanted: str, found: list[Traced]) -> list[Traced]:
    """What has exactly this id, where anything has."""
    return [one for one in found if one.id == wanted] or found


def _rows(warehouse: Path, kind: _Kind, ids: Sequence[str]) -> Iterator[Traced]:
    begins = " OR ".join(f"starts_with({kind.column}, {literal(one)})" for one in ids)
    rows = run_query(
        warehouse,
        f"WITH x AS (SELECT * FROM {kind.view} WHERE {begins} ORDER BY round, {kind.column} "
        f"LIMIT {MOST * len(ids)}) SELECT x.round, x.{kind.column}, {kind.told} FROM x {kind.joined} "
        f"ORDER BY x.round, x.{kind.column}",
    )
    for round_key, name, *values in rows.rows:
        facts = zip(rows.columns[2:], values, strict=True)
        yield Traced(kind.name, name, round_key, tuple(pair for pair in facts if pair[1] not in (None, [])))
