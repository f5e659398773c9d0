"""The vocabulary of trajectories: steps and outcomes. No rules."""

from enum import StrEnum

import polars as pl


class Outcome(StrEnum):
    """How a tool call ended, told by structured fields alone."""

    SUCCESS = "success"
    FAILURE = "failure"
    INTERRUPTED = "interrupted"  # the user, a timeout of the client, or a killed client
    DENIED = "denied"  # a permission was refused
    PENDING = "pending"  # runs in the background, its result has not come
    UNKNOWN = "unknown"  # the fields do not tell


class StepKind(StrEnum):
    """What a step is."""

    PROMPT = "prompt"  # the user, or a wake-up, speaks
    TOOL_CALL = "tool_call"  # one call of a tool, its events joined by tool_use_id
    MESSAGE = "message"  # the assistant speaks
    LIFECYCLE = "lifecycle"  # session, turn, subagent and compaction marks


# One row per step; the rows of one trajectory_id, in index order, are one agent's trajectory in one session.
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "step_id": pl.String,
    "trajectory_id": pl.String,
    "session_id": pl.String,
    "layer": pl.String,
    "agent_id": pl.String,  # null: the main agent
    "agent_type": pl.String,
    "parent_agent_id": pl.String,
    "index": pl.Int64,
    "kind": pl.String,  # StepKind
    "mark": pl.String,  # hook event name that the step begins with
    "event_ids": pl.List(pl.String),  # every event belongs to exactly one step
    "evidence_ids": pl.List(pl.String),  # events of other steps that tell something about this one
    "prompt_id": pl.String,
    "started_at": pl.Datetime("ns", "UTC"),
    "ended_at": pl.Datetime("ns", "UTC"),
    "duration_ms": pl.Float64,
    "tool_name": pl.String,
    "tool_use_id": pl.String,
    "tool_input": pl.String,  # JSON text
    "tool_response": pl.String,  # JSON text
    "error": pl.String,
    "outcome": pl.String,  # Outcome; null unless a tool call
    "outcome_reason": pl.String,  # the field and its value
    "text": pl.String,  # prompt or message
}
STEP_SCHEMA = pl.Schema(_COLUMNS)
