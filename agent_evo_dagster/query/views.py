"""The views of the store: their names, columns and SQL. Opens nothing and reads nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.capture.types import COVERAGE_SCHEMA, EVENT_SCHEMA, QUARANTINE_SCHEMA, USAGE_SCHEMA
from agent_evo_dagster.patches.types import PATCH_DECISION_SCHEMA, PATCH_EVALUATION_SCHEMA, PATCH_SCHEMA
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, METRIC_SCHEMA, ROLLOUT_SCHEMA
from agent_evo_dagster.trajectories.types import STEP_SCHEMA


@dataclass(frozen=True, slots=True)
class StoredView:
    """The frames of one or more assets, over all rounds."""

    name: str
    about: str
    assets: tuple[str, ...]
    schema: pl.Schema

    @property
    def columns(self) -> dict[str, str]:
        """Names and SQL types."""
        return {"round": "VARCHAR", **{name: sql_type(kind) for name, kind in self.schema.items()}}


@dataclass(frozen=True, slots=True)
class DerivedView:
    """What follows from other views."""

    name: str
    about: str
    columns: Mapping[str, str]
    sql: str


# without the tokens, which are for training alone
_ROLLOUTS: Final = pl.Schema({n: kind for n, kind in ROLLOUT_SCHEMA.items() if not isinstance(kind, pl.List)})

STORED: Final = (
    StoredView("events", "What was captured, one row an event.", ("hook_events",), EVENT_SCHEMA),
    StoredView("quarantine", "Lines that are no events.", ("quarantined_lines",), QUARANTINE_SCHEMA),
    StoredView(
        "coverage", "Calls that hooks and transcripts tell of.", ("capture_coverage",), COVERAGE_SCHEMA
    ),
    StoredView("usage", "Tokens of the model, one row a message.", ("token_usage",), USAGE_SCHEMA),
    StoredView("steps", "Trajectories, one row a step.", ("trajectories",), STEP_SCHEMA),
    StoredView("segments", "Segments of trajectories, one row each.", ("segments",), SEGMENT_SCHEMA),
    StoredView(
        "findings",
        "What sessions and training show.",
        ("session_findings", "training_findings"),
        FINDING_SCHEMA,
    ),
    StoredView("rollouts", "Rollouts of the training, one row each.", ("rollout_trajectories",), _ROLLOUTS),
    StoredView("metrics", "Training metrics, one row a step and name.", ("training_metrics",), METRIC_SCHEMA),
    StoredView(
        "evaluations",
        "Held-out scores of the policies, one row a task and sample.",
        ("policy_evaluation",),
        EVALUATION_SCHEMA,
    ),
    StoredView("patches", "Proposed patches, one row each.", ("skill_patches",), PATCH_SCHEMA),
    StoredView(
        "verdicts", "What the gate says of each patch.", ("patch_evaluation",), PATCH_EVALUATION_SCHEMA
    ),
    StoredView("decisions", "The decision on each patch.", ("patch_decisions",), PATCH_DECISION_SCHEMA),
)

_CALLS: Final = """
SELECT s.round, s.session_id, s.layer, s.agent_id, s.agent_type, g.segment_id, g.skill, s.step_id,
       s.started_at, s.ended_at, s.duration_ms, s.tool_name, s.tool_use_id, s.tool_input, s.tool_response,
       s.error, s.outcome, s.outcome_reason
FROM steps AS s
LEFT JOIN (SELECT round, segment_id, skill, unnest(step_ids) AS step_id FROM segments) AS g
       ON g.round = s.round AND g.step_id = s.step_id
WHERE s.kind = 'tool_call'
"""

_SESSIONS: Final = """
SELECT e.round, e.session_id, e.layer, e.first_at, e.last_at, e.events,
       coalesce(t.agents, 0) AS agents, coalesce(t.prompts, 0) AS prompts, coalesce(t.calls, 0) AS calls,
       coalesce(t.failures, 0) AS failures, coalesce(t.interrupted, 0) AS interrupted,
       coalesce(t.denied, 0) AS denied, coalesce(t.pending, 0) AS pending,
       coalesce(g.skills, []) AS skills
FROM (SELECT round, session_id, min(layer) AS layer, min("at") AS first_at, max("at") AS last_at,
             count(*) AS events
      FROM events GROUP BY round, session_id) AS e
LEFT JOIN (SELECT round, session_id, count(DISTINCT trajectory_id) AS agents,
                  count(*) FILTER (kind = 'prompt') AS prompts,
                  count(*) FILTER (kind = 'tool_call') AS calls,
                  count(*) FILTER (outcome = 'failure') AS failures,
                  count(*) FILTER (outcome = 'interrupted') AS interrupted,
                  count(*) FILTER (outcome = 'denied') AS denied,
                  count(*) FILTER (outcome = 'pending') AS pending
           FROM steps GROUP BY round, session_id) AS t
       ON t.round = e.round AND t.session_id = e.session_id
LEFT JOIN (SELECT round, session_id, list_sort(list(DISTINCT skill)) AS skills
           FROM segments WHERE skill IS NOT NULL GROUP BY round, session_id) AS g
       ON g.round = e.round AND g.session_id = e.session_id
"""

_SKILLS: Final = """
SELECT round, skill, count(DISTINCT session_id) AS sessions, count(*) AS segments,
       sum(calls)::BIGINT AS calls, sum(failures)::BIGINT AS failures,
       min(started_at) AS first_at, max(ended_at) AS last_at
FROM segments WHERE kind = 'skill' GROUP BY round, skill
"""

_COUNTS: Final = ("agents", "prompts", "calls", "failures", "interrupted", "denied", "pending")

DERIVED: Final = (
    DerivedView(
        "sessions",
        "The index of sessions, one row a session and round.",
        {
            "round": "VARCHAR",
            "session_id": "VARCHAR",
            "layer": "VARCHAR",
            "first_at": "TIMESTAMP",
            "last_at": "TIMESTAMP",
            "events": "BIGINT",
            **dict.fromkeys(_COUNTS, "BIGINT"),
            "skills": "VARCHAR[]",
        },
        _SESSIONS,
    ),
    DerivedView(
        "calls",
        "Tool calls with their outcome, segment and skill, one row each.",
        {
            **dict.fromkeys(("round", "session_id", "layer", "agent_id", "agent_type"), "VARCHAR"),
            **dict.fromkeys(("segment_id", "skill", "step_id"), "VARCHAR"),
            **dict.fromkeys(("started_at", "ended_at"), "TIMESTAMP"),
            "duration_ms": "DOUBLE",
            **dict.fromkeys(("tool_name", "tool_use_id", "tool_input", "tool_response"), "VARCHAR"),
            **dict.fromkeys(("error", "outcome", "outcome_reason"), "VARCHAR"),
        },
        _CALLS,
    ),
    DerivedView(
        "skills",
        "How skills were used, one row a skill and round.",
        {
            "round": "VARCHAR",
            "skill": "VARCHAR",
            **dict.fromkeys(("sessions", "segments", "calls", "failures"), "BIGINT"),
            "first_at": "TIMESTAMP",
            "last_at": "TIMESTAMP",
        },
        _SKILLS,
    ),
)

VIEWS: Final[tuple[StoredView | DerivedView, ...]] = (*STORED, *DERIVED)


def sql_type(kind: pl.DataType) -> str:
    """The SQL type that a column of a frame has in a view; instants are in UTC, to the microsecond."""
    if isinstance(kind, pl.List):
        return f"{sql_type(pl.Schema({'item': kind.inner})['item'])}[]"
    return _TYPES[type(kind)]


_TYPES: Final[Mapping[type[pl.DataType], str]] = {
    pl.String: "VARCHAR",
    pl.Int64: "BIGINT",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
    pl.Datetime: "TIMESTAMP",
}
