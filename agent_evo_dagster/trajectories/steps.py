"""Steps as a frame, one row each, in order, from events that were joined. No outcomes, no ids.

A column that names an event holds its row.
"""

from typing import Final

import polars as pl

from agent_evo_dagster.trajectories.calls import CALL_KINDS, Joining
from agent_evo_dagster.trajectories.columns import EventColumns

# The order of a call's events where their clocks disagree by milliseconds; other kinds stand with questions.
_PHASE: Final = {"PreToolUse": 0, "PostToolUse": 2, "PostToolUseFailure": 2, "PostToolBatch": 3}
_TOLD: Final = pl.Schema(
    {
        "step": pl.Int64,
        "batch": pl.Int64,
        "place": pl.Int64,
        "told_name": pl.String,
        "told_id": pl.String,
        "told_input": pl.String,
    }
)


def frame_of_steps(events: EventColumns, joining: Joining) -> pl.DataFrame:
    """The steps, session by session, the main agent first, each agent's in the order of their beginnings."""

    def at(event: str, *names: str) -> list[pl.Expr]:
        return [pl.lit(events.frame.get_column(name)).gather(event).alias(name) for name in names]

    return (
        _grouped(events, joining)
        .join(_told(joining).lazy(), on="step", how="left", maintain_order="left")
        .with_columns(
            *at("head", "session_id", "layer", "kind", "prompt_id", "text", "error"),
            *at("call", "tool_use_id"),
            *at("named", "tool_name"),
            *at("asked", "tool_input"),
            *at("end", "tool_response", "duration_ms"),
            agent=pl.lit(pl.Series(events.agent, dtype=pl.String)).gather("head"),
            is_call=pl.col("call").is_not_null() | (pl.col("step") >= len(events)),
            bare=pl.when(pl.col("event_ids").list.len() == 0).then("place"),
        )
        .with_columns(
            pl.col("tool_use_id").fill_null(pl.col("told_id")),
            pl.col("tool_name").fill_null(pl.col("told_name")),
            *([pl.coalesce("told_input", "tool_input").alias("tool_input")] if joining.batches else []),
        )
        .sort("session_id", "agent", "first", pl.col("place").fill_null(0), maintain_order=True)
        .collect()
    )


def _grouped(events: EventColumns, joining: Joining) -> pl.LazyFrame:
    """The events of each step; of a call, also which of its events say what."""
    kind, is_call = pl.col("kind"), pl.col("kind").is_in(CALL_KINDS)
    is_asked = is_call & pl.col("tool_input").is_not_null()
    roles = {
        "call": is_call,
        "start": kind == "PreToolUse",
        "posted": kind == "PostToolUse",
        "failed": kind == "PostToolUseFailure",
        "denial": kind == "PermissionDenied",
        "named": is_call & (pl.col("tool_name") != ""),
        "asked": is_asked,
        "asked_at_start": is_asked & (kind == "PreToolUse"),
    }
    own = events.frame.select("row", "event_id", "kind", "at", "tool_name", "tool_input")
    owned = set(joining.step_of) if joining.evidence else set()
    # a call without an event of its own stands with the first batch that names it
    bare = {step: rows[0] for step, rows in joining.evidence.items() if step not in owned}
    others = own[list(bare.values())].with_columns(event_id=pl.lit(None, dtype=pl.String))
    return (
        pl.concat([own, others] if bare else [own])
        .lazy()
        .select(
            "row",
            "event_id",
            "at",
            step=pl.Series([*joining.step_of, *bare], dtype=pl.Int64),
            phase=kind.replace_strict(_PHASE, default=1, return_dtype=pl.Int8),
            **{name: pl.when(condition).then("row") for name, condition in roles.items()},
        )
        .sort("step", "phase", "row")
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("event_id").alias("event_ids"),
            pl.first("row").alias("head"),
            pl.min("row").alias("first"),
            pl.min("at").alias("started_at"),
            pl.max("at").alias("ended_at"),
            pl.min("call", "start", "failed", "named"),
            pl.max("posted", "denial"),
            asked=pl.coalesce(pl.max("asked_at_start"), pl.min("asked")),
        )
        .with_columns(pl.col("event_ids").list.drop_nulls(), end=pl.coalesce("failed", "posted"))
    )


def _told(joining: Joining) -> pl.DataFrame:
    """What batches tell of calls."""
    rows = [
        (step, told.row, told.place, told.tool_name, told.tool_use_id, told.tool_input)
        for step, told in joining.batches.items()
    ]
    return pl.DataFrame(rows, schema=_TOLD, orient="row")
