"""Tool calls as detectors read them: a step, its segment, and normal forms. No rule about what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.signatures import error_signature, normal_input, parse_json
from agent_evo_dagster.trajectories.types import Outcome, StepKind

_STEP_COLUMNS = (
    "step_id", "trajectory_id", "session_id", "index", "kind", "event_ids", "started_at", "duration_ms",
    "tool_name", "tool_input", "tool_response", "error", "outcome", "outcome_reason",
)  # fmt: skip
_SEGMENT_COLUMNS = ("segment_id", "skill", "step_ids")
_PATH_KEYS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True)
class Call:
    """One tool call, in the place that it has in its trajectory and segment."""

    step_id: str
    trajectory_id: str
    session_id: str
    tool: str
    outcome: Outcome
    outcome_reason: str
    error: str | None
    raw_input: str | None = field(repr=False)
    event_ids: tuple[str, ...]
    segment_id: str | None
    skill: str | None
    started_at: datetime | None
    duration_ms: float | None

    @property
    def failed(self) -> bool:
        """Whether its structured outcome is a failure."""
        return self.outcome is Outcome.FAILURE

    @property
    def succeeded(self) -> bool:
        """Whether its structured outcome is a success."""
        return self.outcome is Outcome.SUCCESS

    @cached_property
    def input(self) -> str:
        """The normal form of its input."""
        return normal_input(self.raw_input)

    @cached_property
    def signature(self) -> str:
        """The normal form of its error."""
        return error_signature(self.error)

    @cached_property
    def path(self) -> str | None:
        """The file or folder that its input names, where the tool takes one."""
        return self._text_of(_PATH_KEYS)

    @cached_property
    def command(self) -> str | None:
        """The shell command that it runs, where it is one."""
        return self._text_of(("command",)) if self.tool == "Bash" else None

    def _text_of(self, keys: Sequence[str]) -> str | None:
        parsed = parse_json(self.raw_input)
        values = [parsed.get(key) for key in keys] if isinstance(parsed, Mapping) else []
        return next((value for value in values if isinstance(value, str) and value), None)

    @property
    def evidence(self) -> tuple[str, ...]:
        """The ids to look at: segment, step, events."""
        return (*((self.segment_id,) if self.segment_id else ()), self.step_id, *self.event_ids)


def read_calls(steps: pl.DataFrame, segments: pl.DataFrame) -> list[Call]:
    """The tool calls of all trajectories, in the order of trajectory and index."""
    homes = _segments_of_steps(segments)
    rows = rows_of(steps, _STEP_COLUMNS, what="steps")
    rows.sort(key=lambda row: (row["session_id"], row["trajectory_id"], row["index"], row["step_id"]))
    return [_call(row, homes) for row in rows if row["kind"] == StepKind.TOOL_CALL]


def by_trajectory(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The calls of each trajectory, in order."""
    for _, group in groupby(calls, key=lambda call: call.trajectory_id):
        yield list(group)


def _call(row: Mapping[str, Any], homes: Mapping[str, tuple[str, str | None]]) -> Call:
    segment_id, skill = homes.get(row["step_id"], (None, None))
    return Call(
        step_id=row["step_id"],
        trajectory_id=row["trajectory_id"],
        session_id=row["session_id"],
        tool=row["tool_name"] or "(unnamed tool)",
        outcome=Outcome(row["outcome"] or Outcome.UNKNOWN),
        outcome_reason=row["outcome_reason"] or "",
        error=_error_text(row),
        raw_input=row["tool_input"],
        event_ids=tuple(row["event_ids"] or ()),
        segment_id=segment_id,
        skill=skill,
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
    )


def _error_text(row: Mapping[str, Any]) -> str | None:
    # A validation error has no error field: its message is the response that the client wrote in its place.
    if row["error"] or row["outcome"] != Outcome.FAILURE or not row["tool_response"]:
        return None if row["error"] is None else str(row["error"])
    response = parse_json(row["tool_response"])
    text = response if isinstance(response, str) else str(row["tool_response"])
    return text if text.startswith("<tool_use_error>") else str(row["outcome_reason"] or "")


def _segments_of_steps(segments: pl.DataFrame) -> dict[str, tuple[str, str | None]]:
    rows = rows_of(segments, _SEGMENT_COLUMNS, what="segments")
    return {step: (row["segment_id"], row["skill"]) for row in rows for step in row["step_ids"] or ()}
