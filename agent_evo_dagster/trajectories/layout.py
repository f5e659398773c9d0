"""Steps as rows of the documented schema. No joining, no judging."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson
import polars as pl

from agent_evo_dagster.trajectories.agents import calls_of_agents
from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.drafts import Draft
from agent_evo_dagster.trajectories.ids import step_id, trajectory_id
from agent_evo_dagster.trajectories.types import STEP_SCHEMA, StepKind

_SEPARATOR: Final = "\n"  # between event ids, which are hashes; lists are split once, by column


class StepRow(NamedTuple):
    """One row of STEP_SCHEMA, in its order; lists are joined text and instants are integers."""

    step_id: str
    trajectory_id: str
    session_id: str
    layer: str
    agent_id: str | None
    agent_type: str | None
    parent_agent_id: str | None
    place: int  # column `index`: a tuple has a method of that name
    kind: str
    mark: str
    event_ids: str
    evidence_ids: str
    prompt_id: str | None
    started_at: int
    ended_at: int | None
    duration_ms: float | None
    tool_name: str | None
    tool_use_id: str | None
    tool_input: str | None
    tool_response: str | None
    error: str | None
    outcome: str | None
    outcome_reason: str | None
    text: str | None


class _Trajectory(NamedTuple):
    trajectory_id: str
    session_id: str
    agent_id: str | None
    agent_type: str | None
    parent_agent_id: str | None


def session_rows(
    columns: EventColumns, session: str, agents: Mapping[str | None, Sequence[Draft]]
) -> Iterator[StepRow]:
    """The rows of one session, agent by agent, the main one first."""
    callers = calls_of_agents(columns, [draft for drafts in agents.values() for draft in drafts])
    for agent in sorted(agents, key=lambda name: (name is not None, name or "")):
        drafts = agents[agent]
        caller = callers.get(agent) if agent is not None else None
        if caller is not None:
            drafts[0].evidence.extend(caller.rows)
        parent = caller.agent if caller is not None else None
        shared = _Trajectory(
            trajectory_id(session, agent), session, agent, _agent_type(columns, drafts), parent
        )
        for index, draft in enumerate(drafts):
            yield _row(columns, shared, index, draft)


def to_frame(rows: Sequence[StepRow]) -> pl.DataFrame:
    """The rows as a frame of STEP_SCHEMA."""
    flat: dict[str, pl.DataType] = {
        name: pl.String() if isinstance(kind, pl.List) else kind for name, kind in STEP_SCHEMA.items()
    }
    flat |= {"started_at": pl.Int64(), "ended_at": pl.Int64()}
    data = dict(zip(STEP_SCHEMA.names(), zip(*rows, strict=True), strict=True)) if rows else {}
    return pl.DataFrame(data, schema=flat).with_columns(
        _split("event_ids"),
        _split("evidence_ids"),
        pl.col("started_at", "ended_at").cast(pl.Datetime("ns", "UTC")),
    )


def _split(name: str) -> pl.Expr:
    none = pl.lit([], dtype=pl.List(pl.String))
    return pl.when(pl.col(name) == "").then(none).otherwise(pl.col(name).str.split(_SEPARATOR)).alias(name)


def _row(columns: EventColumns, shared: _Trajectory, index: int, draft: Draft) -> StepRow:
    rows, is_call = draft.ordered_rows(columns), draft.kind is StepKind.TOOL_CALL
    first = rows[0] if rows else draft.first()
    started, ended = _span(columns, draft)
    evidence = dict.fromkeys(columns.event_id[row] for row in draft.evidence)
    return StepRow(
        step_id(shared.trajectory_id, _origin(columns, draft)),
        shared.trajectory_id,
        shared.session_id,
        columns.layer[first],
        shared.agent_id,
        shared.agent_type,
        shared.parent_agent_id,
        index,
        draft.kind.value,
        columns.kind[first],
        _SEPARATOR.join([columns.event_id[row] for row in rows]),
        _SEPARATOR.join(evidence),
        columns.prompt_id[first],
        started,
        ended,
        _duration(columns, draft, started, ended),
        draft.tool_name,
        draft.tool_use_id,
        draft.tool_input,
        _response_text(columns, draft) if is_call else None,
        draft.error if is_call else columns.error[first],
        draft.outcome.value if draft.outcome is not None else None,
        draft.reason,
        None if is_call else _text(columns, rows),
    )


def _agent_type(columns: EventColumns, drafts: Sequence[Draft]) -> str | None:
    types = (columns.agent_type[row] for draft in drafts for row in draft.rows)
    return next((name for name in types if name), None)


def _origin(columns: EventColumns, draft: Draft) -> str:
    origin = columns.event_id[draft.first()]
    return origin if draft.rows else f"{origin}#{draft.place}"


def _span(columns: EventColumns, draft: Draft) -> tuple[int, int | None]:
    """First and last instant of a step; null while a call has no end."""
    if len(draft.rows) == 1:
        started = ended = columns.at[draft.rows[0]]
    else:
        instants = [columns.at[row] for row in draft.rows or draft.evidence[:1]]
        started, ended = min(instants), max(instants)
    is_open = draft.kind is StepKind.TOOL_CALL and draft.end is None and draft.batch is None
    return started, None if is_open else ended


def _duration(columns: EventColumns, draft: Draft, started: int, ended: int | None) -> float | None:
    """Milliseconds of a call: as the client measured, else start to end; null where only its end was seen."""
    if draft.kind is not StepKind.TOOL_CALL:
        return None
    measured = columns.duration_ms[draft.end] if draft.end is not None else None
    if measured is not None and measured >= 0:
        return measured
    return (ended - started) / 1e6 if ended is not None and draft.start is not None else None


def _response_text(columns: EventColumns, draft: Draft) -> str | None:
    if draft.end is not None:
        return columns.tool_response[draft.end]
    return orjson.dumps(draft.batch_response).decode() if draft.batch is not None else None


def _text(columns: EventColumns, rows: Sequence[int]) -> str | None:
    """The prompt as it was submitted; of a message shown in parts, the parts."""
    if columns.kind[rows[0]] == "MessageDisplay":
        return "".join(_parts(columns, rows)) or None
    return columns.text[rows[0]]


def _parts(columns: EventColumns, rows: Sequence[int]) -> Iterator[str]:
    for row in rows:
        part = columns.text[row] or columns.extra_of(row).get("delta")
        if isinstance(part, str):
            yield part
