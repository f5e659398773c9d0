"""Events as columns in the order in which they happened. No joining, no meaning."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from agent_evo_dagster.capture.types import EVENT_SCHEMA
from agent_evo_dagster.errors import TrajectoryError
from agent_evo_dagster.trajectories.values import parsed

# Kinds whose further fields decide something here; `extra` of the others is never looked at.
_KINDS_WITH_EXTRA = ("PostToolBatch", "PostToolUseFailure", "MessageDisplay", "UserPromptExpansion")


@dataclass(frozen=True, slots=True)
class EventColumns:
    """One list per column; a row number names an event. Rows of one session are neighbours, oldest first."""

    event_id: list[str]
    session_id: list[str]
    layer: list[str]
    agent_id: list[str | None]
    agent_type: list[str | None]
    prompt_id: list[str | None]
    kind: list[str]
    at: list[int]  # ns since the epoch
    tool_name: list[str | None]
    tool_use_id: list[str | None]  # null where the record had none, whatever was derived
    tool_input: list[str | None]
    tool_response: list[str | None]
    error: list[str | None]
    duration_ms: list[float | None]
    text: list[str | None]
    extra: list[str | None]

    def extra_of(self, row: int) -> dict[str, Any]:
        """The fields of an event that have no column; empty where there are none."""
        value = parsed(self.extra[row])
        return value if isinstance(value, dict) else {}


def read_columns(events: pl.DataFrame) -> EventColumns:
    """Order `events` by session and the recorder's clock; ties keep their place in the source, repeats go.

    Raises:
        TrajectoryError: a column of EVENT_SCHEMA is missing.
    """
    missing = [name for name in EVENT_SCHEMA.names() if name not in events.columns]
    if missing:
        raise TrajectoryError(
            f"Trajectories are built from frames of EVENT_SCHEMA; this one lacks {', '.join(missing)}. "
            "Read the events with agent_evo_dagster.capture.read."
        )
    ordered = (
        events.sort("session_id", "at", "source_file", "source_offset", "event_id")
        .unique("event_id", keep="first", maintain_order=True)
        .with_columns(
            pl.col("at").cast(pl.Int64),
            pl.when(pl.col("kind").is_in(_KINDS_WITH_EXTRA)).then("extra").alias("extra"),
            pl.when(~pl.col("derived").list.contains("tool_use_id").fill_null(False))
            .then("tool_use_id")
            .alias("tool_use_id"),
        )
    )
    return EventColumns(**{name: ordered.get_column(name).to_list() for name in EventColumns.__slots__})
