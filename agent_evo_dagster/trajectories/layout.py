"""Steps as rows of the documented schema. No joining, no judging."""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson
import polars as pl

from agent_evo_dagster.trajectories.agents import calls_of_agents
from agent_evo_dagster.trajectories.calls import Joining
from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.ids import step_id, trajectory_id
from agent_evo_dagster.trajectories.judged import Judged
from agent_evo_dagster.trajectories.types import STEP_SCHEMA, StepKind

_KINDS: Final = {
    "UserPromptSubmit": StepKind.PROMPT.value,
    "UserPromptExpansion": StepKind.PROMPT.value,
    "MessageDisplay": StepKind.MESSAGE.value,
}
_IS_CALL: Final = pl.col("is_call")

_Owner = tuple[str, str | None]  # a trajectory's: session and agent


def lay_out(events: EventColumns, joining: Joining, steps: Judged) -> pl.DataFrame:
    """The steps as STEP_SCHEMA."""
    callers = calls_of_agents(events, steps)
    owners = list(zip(steps.session_id, steps.agent, strict=True))
    ids = {owner: trajectory_id(*owner) for owner in set(owners)}
    parents = {owner: steps.agent[call] for owner, call in callers.items()}
    types = _types(events)
    has_end = ~_IS_CALL | pl.col("end").is_not_null() | pl.col("batch").is_not_null()
    return (
        steps.frame.lazy()
        .with_row_index("position")
        .join(_evidence(events, steps, callers).lazy(), on="position", how="left", maintain_order="left")
        .with_columns(
            pl.col("agent").alias("agent_id"),
            pl.int_range(pl.len()).over("session_id", "agent").alias("index"),
            _kind(),
            pl.col("kind").alias("mark"),
            pl.col("evidence_ids").fill_null([]),
            pl.when(has_end).then("ended_at").alias("ended_at"),
            _filled("tool_input", joining.commands),
            _filled("tool_response", _batch_responses(joining, steps)),
            pl.when(_IS_CALL).then(_texts(steps.error)).otherwise("error").alias("error"),
            _text(joining),
            outcome=_texts(steps.outcome),
            outcome_reason=_texts(steps.reason),
            trajectory_id=_texts(ids[owner] for owner in owners),
            parent_agent_id=_texts(parents.get(owner) for owner in owners),
            agent_type=_texts(types.get(owner) for owner in owners),
            step_id=_step_ids(events, steps, [ids[owner] for owner in owners]),
        )
        .with_columns(_duration())
        .select(pl.col(name).cast(kind) for name, kind in STEP_SCHEMA.items())
        .collect()
    )


def _texts(values: Iterable[str | None]) -> pl.Series:
    return pl.Series(list(values), dtype=pl.String)


def _kind() -> pl.Expr:
    other = pl.col("kind").replace_strict(_KINDS, default=StepKind.LIFECYCLE.value, return_dtype=pl.String)
    return pl.when(_IS_CALL).then(pl.lit(StepKind.TOOL_CALL.value)).otherwise(other).alias("kind")


def _duration() -> pl.Expr:
    """Milliseconds of a call: as the client measured, else start to end; null where only its end was seen."""
    spanned = pl.when(pl.col("start").is_not_null()).then((pl.col("ended_at") - pl.col("started_at")) / 1e6)
    measured = pl.when(pl.col("duration_ms") >= 0).then("duration_ms")
    return pl.when(_IS_CALL).then(measured.fill_null(spanned)).alias("duration_ms")


def _text(joining: Joining) -> pl.Expr:
    """The prompt as it was submitted; of a message shown in parts, the parts."""
    is_message = pl.col("kind") == "MessageDisplay"
    shown = pl.when(is_message).then(_told_by_step(joining.messages)).otherwise("text")
    return pl.when(~_IS_CALL).then(shown).alias("text")


def _told_by_step(told: Mapping[int, str | None]) -> pl.Expr:
    if not told:
        return pl.lit(None, dtype=pl.String)
    return pl.col("step").replace_strict(told, default=None, return_dtype=pl.String)


def _filled(name: str, told: Mapping[int, str | None]) -> pl.Expr:
    """A column with what else is told of its steps; where nothing is, its texts are not copied."""
    return pl.col(name).fill_null(_told_by_step(told)) if told else pl.col(name)


def _batch_responses(joining: Joining, steps: Judged) -> dict[int, str | None]:
    """What batches tell of calls that nothing else ended."""
    ended = {step for step, end in zip(steps.step, steps.end, strict=True) if end is None}
    told = {step: call.response for step, call in joining.batches.items() if step in ended}
    return {step: orjson.dumps(response).decode() for step, response in told.items()}


def _step_ids(events: EventColumns, steps: Judged, trajectories: Iterable[str]) -> pl.Series:
    """A step begins with an event; a call that has none, with its place in the batch that tells of it."""
    origins = (events.event_id[row] for row in steps.first)
    places = steps.frame.get_column("bare").to_list()
    made = [
        step_id(trajectory, origin if place is None else f"{origin}#{place}")
        for trajectory, origin, place in zip(trajectories, origins, places, strict=True)
    ]
    return _texts(made)


def _evidence(events: EventColumns, steps: Judged, callers: Mapping[_Owner, int]) -> pl.DataFrame:
    """Ids of events of other steps that tell something about one; an agent's first step has its caller's."""
    found = {position: [events.event_id[row] for row in rows] for position, rows in steps.evidence.items()}
    waiting = dict(callers)
    for position, owner in enumerate(zip(steps.session_id, steps.agent, strict=True)) if callers else ():
        caller = waiting.pop(owner, None)
        if caller is not None:
            found.setdefault(position, []).extend(steps.frame.get_column("event_ids")[caller])
    told = {position: list(dict.fromkeys(ids)) for position, ids in found.items()}
    return pl.DataFrame(
        {"position": list(told), "evidence_ids": list(told.values())},
        schema={"position": pl.UInt32, "evidence_ids": pl.List(pl.String)},
    )


def _types(events: EventColumns) -> dict[_Owner, str]:
    """The type of each agent, from the first of its events that names one."""
    types: dict[_Owner, str] = {}
    told = events.frame.get_column("agent_type").to_list()
    for session, agent, name in zip(events.session_id, events.agent, told, strict=True):
        if name:
            types.setdefault((session, agent), name)
    return types
