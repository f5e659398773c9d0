"""The vocabulary of segments. No rules."""

from enum import StrEnum

import polars as pl


class SegmentKind(StrEnum):
    """What holds a segment together."""

    SKILL = "skill"  # a skill, from its call or slash command to its end
    FREE = "free"  # a goal without a skill


# One row per segment. Conservation law: every event belongs to exactly one segment.
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "segment_id": pl.String,
    "trajectory_id": pl.String,
    "session_id": pl.String,
    "layer": pl.String,
    "agent_id": pl.String,
    "kind": pl.String,  # SegmentKind
    "skill": pl.String,  # null in free segments
    "anchor": pl.String,  # "tool" | "slash" | null
    "parent_segment_id": pl.String,  # the orchestrating skill's segment
    "segmenter": pl.String,  # the strategy that made it
    "step_ids": pl.List(pl.String),
    "event_ids": pl.List(pl.String),
    "goal": pl.String,  # the prompt that it serves, cut at 200 characters
    "tags": pl.List(pl.String),  # intents, each with evidence in the calls
    "started_at": pl.Datetime("ns", "UTC"),
    "ended_at": pl.Datetime("ns", "UTC"),
    "calls": pl.Int64,
    "failures": pl.Int64,
}
SEGMENT_SCHEMA = pl.Schema(_COLUMNS)
