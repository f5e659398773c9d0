"""The vocabulary of capture: sources, events and lines that are not events. No reading, no parsing."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import polars as pl


class Source(StrEnum):
    """Where an event was read from."""

    HOOK = "hook"  # a spool record: the stdin of a Claude Code hook
    TRANSCRIPT = "transcript"  # the client's own transcript
    LEGACY = "legacy"  # events.jsonl of the older layout
    ATIF = "atif"  # an Agent Trajectory Interchange Format document
    ROLLOUT = "rollout"  # a training rollout of ours


class Layer(StrEnum):
    """What a session worked on, from the skills that it used."""

    RLLM = "rllm"  # trains agents
    TRAJ = "traj"  # optimises skills
    META = "meta"  # optimises the skills that optimise skills
    UNKNOWN = "unknown"  # no skill tells


class Event(NamedTuple):
    """One thing that happened in a session.

    `tool_input`, `tool_response` and `extra` are JSON text, as captured; UTF-8 where nobody had to read it.
    `at` is in nanoseconds since the epoch, UTC, from the recorder's clock. `kind` is the hook event name
    (legacy: `PostToolUse`, `Stop`, `SubagentStop`). `extra` holds every field of the record that has no
    column of its own.
    """

    event_id: str
    session_id: str
    layer: str
    agent_id: str | None
    agent_type: str | None
    prompt_id: str | None
    kind: str
    at: int
    tool_name: str | None
    tool_use_id: str | None
    tool_input: str | bytes | None
    tool_response: str | bytes | None
    error: str | None
    duration_ms: float | None
    text: str | None  # the prompt, or the last assistant message
    extra: str | bytes | None
    derived: list[str]  # names of the columns that the record lacks and that were derived
    source: str
    source_file: str
    source_offset: int


def bare_event(  # noqa: PLR0917 (what every event has, in the order of its columns)
    event_id: str, session_id: str, kind: str, at: int, source: Source, source_file: str, source_offset: int
) -> Event:
    """An event of which no more is known yet than what every event has; the rest is null."""
    return Event(
        event_id=event_id,
        session_id=session_id,
        layer=Layer.UNKNOWN.value,
        agent_id=None,
        agent_type=None,
        prompt_id=None,
        kind=kind,
        at=at,
        tool_name=None,
        tool_use_id=None,
        tool_input=None,
        tool_response=None,
        error=None,
        duration_ms=None,
        text=None,
        extra=None,
        derived=[],
        source=source.value,
        source_file=source_file,
        source_offset=source_offset,
    )


_EVENT_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "event_id": pl.String,
    "session_id": pl.String,
    "layer": pl.String,
    "agent_id": pl.String,
    "agent_type": pl.String,
    "prompt_id": pl.String,
    "kind": pl.String,
    "at": pl.Datetime("ns", "UTC"),
    "tool_name": pl.String,
    "tool_use_id": pl.String,
    "tool_input": pl.String,
    "tool_response": pl.String,
    "error": pl.String,
    "duration_ms": pl.Float64,
    "text": pl.String,
    "extra": pl.String,
    "derived": pl.List(pl.String),
    "source": pl.String,
    "source_file": pl.String,
    "source_offset": pl.Int64,
}
EVENT_SCHEMA = pl.Schema(_EVENT_COLUMNS)

QUARANTINE_SCHEMA = pl.Schema(
    {
        "source_file": pl.String,
        "source_offset": pl.Int64,
        "reason": pl.String,
        "length": pl.Int64,  # bytes of the line
        "excerpt": pl.String,  # redacted, at most 200 characters
    }
)


# One row per session: which tool calls the hooks saw, and which the client's transcript tells of.
COVERAGE_SCHEMA = pl.Schema(
    {
        "session_id": pl.String,
        "transcript": pl.Boolean,  # whether the round has a transcript of it
        "corrects": pl.Boolean,  # counts what earlier rounds took of it too: in place of their rows
        "calls_both": pl.Int64,
        "calls_hook_only": pl.Int64,  # hooks, or a file of the older layout
        "calls_transcript_only": pl.Int64,
        "matched_by_content": pl.Int64,  # of calls_both: the hooks' records have no id
        "ends_added": pl.Int64,  # of calls_both: only the transcript tells how they ended
        "prompts_added": pl.Int64,
        "messages_added": pl.Int64,
        "captured_twice": pl.Int64,  # events that more than one hook captured: each counts once
    }
)
COVERAGE_COUNTS = tuple(name for name, dtype in COVERAGE_SCHEMA.items() if dtype == pl.Int64)

_USAGE_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "session_id": pl.String,
    "agent_id": pl.String,
    "message_id": pl.String,
    "model": pl.String,
    "skill": pl.String,  # that the client says it followed
    "at": pl.Datetime("ns", "UTC"),
    "input_tokens": pl.Int64,
    "cache_creation_tokens": pl.Int64,
    "cache_read_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "tool_use_ids": pl.List(pl.String),  # calls that the message made
    "cost_usd": pl.Float64,  # null without a price for the model
}
# One row per message of the model: its id counts once, whatever number of lines repeat its usage.
USAGE_SCHEMA = pl.Schema(_USAGE_COLUMNS)


@dataclass(frozen=True, slots=True)
class FileSlice:
    """The byte range of one source file that a round took; `file` is relative to the spool."""

    file: str
    start: int
    end: int
    sha256: str
    sessions: tuple[str, ...]  # the session ids in it; empty: all
