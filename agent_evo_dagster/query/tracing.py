"""What an id of evidence stands for: the finding, segment, step, event or session, with what holds it.

Ids stand in findings, reports and patches; each is looked up by itself or its beginning, in all rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent_evo_dagster.query.store import QueryError, check_text, literal, run_query

SHORTEST: Final = 6  # characters of an id's beginning
MOST: Final = 20  # things that are shown for one id


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


@dataclass(frozen=True, slots=True)
class Found:
    """What one id stands for."""

    shown: tuple[Traced, ...]  # at most `MOST`; what has exactly the id alone, where anything has
    left_out: int  # how many more there are


@dataclass(frozen=True, slots=True)
class _Hit:
    """One thing that begins with a wanted id, and how many of its kind do, as exactly as it does."""

    place: int  # of the id among the wanted ones
    exact: bool
    alike: int
    traced: Traced


def trace(warehouse: Path, ids: Sequence[str]) -> dict[str, Found]:
    """What each of `ids` stands for, in the order given; nothing is shown where nothing does.

    Raises:
        QueryError: nothing is stored, or an id is no text, or too short to tell what it means.
    """
    wanted = list(dict.fromkeys(ids))
    for one in wanted:
        check_text("An id", one)
        if len(one) < SHORTEST:
            raise QueryError(
                f"An id, or at least {SHORTEST} characters of its beginning, was expected, not {one!r}."
            )
    hits = [hit for kind in _KINDS for hit in _rows(warehouse, kind, wanted)]
    return {one: _best([hit for hit in hits if hit.place == place]) for place, one in enumerate(wanted)}


def _best(hits: list[_Hit]) -> Found:
    """Of what begins with one id, what has exactly it, or else the first; and how many are left out."""
    best = [hit for hit in hits if hit.exact] or hits
    every = sum({hit.traced.kind: hit.alike for hit in best}.values())
    shown = tuple(hit.traced for hit in best[:MOST])
    # a thing may be shown twice: an event is part of one step, and evidence of another
    return Found(shown, every - len({(one.kind, one.id, one.round) for one in shown}))


def _rows(warehouse: Path, kind: _Kind, ids: Sequence[str]) -> Iterator[_Hit]:
    """What of a kind begins with an id: for each at most `MOST` that are exactly it, and `MOST` others."""
    wanted = ", ".join(f"({place}, {literal(one)})" for place, one in enumerate(ids))
    rows = run_query(
        warehouse,
        f"""
        WITH x AS (
            SELECT v.*, w.place, v.{kind.column} = w.id AS exact, count(*) OVER alike AS alike
            FROM {kind.view} AS v
            JOIN (VALUES {wanted}) AS w(place, id) ON starts_with(v.{kind.column}, w.id)
            WINDOW alike AS (PARTITION BY w.place, v.{kind.column} = w.id)
            QUALIFY row_number() OVER (
                PARTITION BY w.place, v.{kind.column} = w.id ORDER BY v.round, v.{kind.column}
            ) <= {MOST}
        )
        SELECT x.place, x.exact, x.alike, x.round, x.{kind.column}, {kind.told} FROM x {kind.joined}
        ORDER BY x.round, x.{kind.column}
        """,
    )
    for place, exact, alike, round_key, name, *values in rows.rows:
        facts = zip(rows.columns[5:], values, strict=True)
        told = tuple(pair for pair in facts if pair[1] not in (None, []))
        yield _Hit(place, exact, alike, Traced(kind.name, name, round_key, told))
