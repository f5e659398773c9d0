"""Trajectories from events: each session's events joined to steps, judged, and laid out as a frame."""

from collections.abc import Collection, Iterable
from itertools import groupby

import polars as pl

from agent_evo_dagster.trajectories.assemble import assemble, by_agent
from agent_evo_dagster.trajectories.background import close_dangling, resolve_background
from agent_evo_dagster.trajectories.columns import EventColumns, read_columns
from agent_evo_dagster.trajectories.drafts import Draft
from agent_evo_dagster.trajectories.layout import StepRow, session_rows, to_frame
from agent_evo_dagster.trajectories.outcomes import Verdict, judge_batch, judge_response
from agent_evo_dagster.trajectories.types import Outcome, StepKind
from agent_evo_dagster.trajectories.values import parsed


def build_trajectories(events: pl.DataFrame, *, over: Collection[str] = ()) -> pl.DataFrame:
    """The steps of every agent of every session in `events`, as STEP_SCHEMA.

    `over` names sessions that are known to be over though no SessionEnd says so (a killed client).

    Raises:
        TrajectoryError: a column of EVENT_SCHEMA is missing.
    """
    columns = read_columns(events)
    steps: list[StepRow] = []
    for session, rows in groupby(range(len(columns.event_id)), key=columns.session_id.__getitem__):
        steps.extend(_session(columns, session, list(rows), over=session in over))
    return to_frame(steps)


def _session(columns: EventColumns, session: str, rows: list[int], *, over: bool) -> Iterable[StepRow]:
    drafts = assemble(columns, rows)
    for draft in drafts:
        if draft.kind is StepKind.TOOL_CALL:
            _judge(columns, draft)
    resolve_background(columns, drafts, rows)
    agents = by_agent(drafts)
    close_dangling(columns, agents, rows, over=over)
    return session_rows(columns, session, agents)


def _judge(columns: EventColumns, draft: Draft) -> None:
    """Fill in the outcome, where the call's own events tell it."""
    verdict: Verdict | None = None
    if draft.end is not None and columns.kind[draft.end] == "PostToolUseFailure":
        verdict = _judge_failure(columns, draft.end)
    elif draft.end is not None:
        draft.response = parsed(columns.tool_response[draft.end])
        verdict = judge_response(draft.tool_name, draft.response)
    elif draft.denial is not None:
        verdict = Verdict(Outcome.DENIED, "kind=PermissionDenied", columns.error[draft.denial])
    elif draft.batch is not None:
        verdict = judge_batch(draft.batch_response, started=draft.start is not None)
    if verdict is not None:
        draft.outcome, draft.reason, draft.error = verdict


def _judge_failure(columns: EventColumns, row: int) -> Verdict:
    if columns.extra_of(row).get("is_interrupt") is True:
        return Verdict(Outcome.INTERRUPTED, "is_interrupt=true", columns.error[row])
    return Verdict(Outcome.FAILURE, "kind=PostToolUseFailure", columns.error[row])
