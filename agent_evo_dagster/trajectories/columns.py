"""Events as columns in the order in which they happened, and which agent acted. No joining, no meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from agent_evo_dagster.capture.types import EVENT_SCHEMA
from agent_evo_dagster.errors import TrajectoryError
from agent_evo_dagster.trajectories.values import parsed

CALLERS: Final = ("Agent", "Task", "Skill")  # tools whose call can start a subagent


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The events; a row number names one. Rows of one session are neighbours, oldest first.

    What joining looks at in every row is in lists. Long texts stay in the frame: few are ever looked at.
    """

    frame: pl.DataFrame
    event_id: list[str]
    session_id: list[str]
    agent: list[str | None]  # that acted; null for the main one and for the client's own forks
    kind: list[str]
    tool_name: list[str | None]
    tool_use_id: list[str | None]  # null where the record had none, whatever was derived

    def __len__(self) -> int:
        return len(self.kind)

    def value(self, name: str, row: int) -> Any:
        """What one event has in a column."""
        return self.frame.get_column(name)[row]

    def extra_of(self, row: int) -> dict[str, Any]:
        """The fields of an event that have no column; empty where there are none."""
        value = parsed(self.value("extra", row))
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
    frame = (
        events.lazy()
        .sort("session_id", "at", "source_file", "source_offset", "event_id")
        .unique("event_id", keep="first", maintain_order=True)
        .with_row_index("row")
        .with_columns(
            pl.col("row", "at").cast(pl.Int64),
            pl.when(~pl.col("derived").list.contains("tool_use_id").fill_null(False))
            .then("tool_use_id")
            .alias("tool_use_id"),
        )
        .collect()
    )
    names = [name for name in EventColumns.__slots__ if name not in ("frame", "agent")]
    lists = {name: frame.get_column(name).to_list() for name in names}
    return EventColumns(frame, agent=_agents(frame, lists["session_id"], lists["kind"]), **lists)


def agent_named(response: str | bytes | None) -> str | None:
    """The agent that a call's response names, as JSON text."""
    value = parsed(response)
    agent = value.get("agentId") if isinstance(value, dict) else None
    return agent if isinstance(agent, str) else None


def _agents(frame: pl.DataFrame, sessions: Sequence[str], kinds: Sequence[str]) -> list[str | None]:
    """Who acted: an agent that did more than stop, or that a call names. Others are forks of the client."""
    ids = frame.get_column("agent_id").to_list()
    known: set[tuple[str, str | None]] = set()
    stopped: set[tuple[str, str | None]] = set()
    for key, kind in zip(zip(sessions, ids, strict=True), kinds, strict=True):
        (stopped if kind == "SubagentStop" else known).add(key)
    if not stopped <= known:
        for session, tool, response in frame.select("session_id", "tool_name", "tool_response").iter_rows():
            if tool in CALLERS:
                known.add((session, agent_named(response)))
    return [
        agent if (session, agent) in known else None for session, agent in zip(sessions, ids, strict=True)
    ]
