"""Hook records, written by hand or recorded, as event frames. Not a reader of the spool: capture has that."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from agent_evo_dagster.capture.types import EVENT_SCHEMA

SHARED = Path("../shared/data")
_COLUMNS = (
    "session_id", "agent_id", "agent_type", "prompt_id", "tool_name", "tool_use_id", "tool_input",
    "tool_response", "error", "duration_ms",
)  # fmt: skip
_TEXT = ("prompt", "last_assistant_message", "delta")
_LEGACY_KINDS = {"tool_call": "PostToolUse", "turn_end": "Stop", "conversation_end": "SubagentStop"}


def shared_data(*parts: str) -> Path:
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"recorded data is not at {path}: it is not part of the project")
    return path


def event(
    hook: dict[str, Any], at: float, offset: int, *, source: str = "hook", file: str = "f"
) -> dict[str, Any]:
    """One row of EVENT_SCHEMA from a hook's stdin."""
    row = dict.fromkeys(EVENT_SCHEMA.names())
    row |= {name: hook[name] for name in _COLUMNS if name in hook}
    for name in ("tool_input", "tool_response"):
        row[name] = None if hook.get(name) is None else json.dumps(hook[name], ensure_ascii=False)
    extra = {name: v for name, v in hook.items() if name not in (*_COLUMNS, "hook_event_name", *_TEXT[:2])}
    body = json.dumps([at, hook], sort_keys=True)
    return row | {
        "event_id": "e-" + hashlib.sha256(body.encode()).hexdigest()[:16],
        "session_id": str(hook.get("session_id", "s1")),
        "layer": "unknown",
        "kind": hook["hook_event_name"],
        "at": round(at * 1e9),
        "text": next((hook[name] for name in _TEXT if name in hook), None),
        "extra": json.dumps(extra, ensure_ascii=False),
        "derived": [],
        "source": source,
        "source_file": file,
        "source_offset": offset,
    }


def frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    schema = pl.Schema({**EVENT_SCHEMA, "at": pl.Int64})
    return pl.DataFrame(list(rows), schema=schema).cast(dict(EVENT_SCHEMA))


def hooks(*records: dict[str, Any], start: float = 1000.0) -> pl.DataFrame:
    """Events a second apart, in the order given; `at` in a record overrides its time."""
    rows = []
    for number, record in enumerate(records):
        at = record.get("at", start + number)
        hook = {name: value for name, value in record.items() if name != "at"}
        rows.append(event({"session_id": "s1", **hook}, at, number))
    return frame(rows)


def hook(kind: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": kind, **fields}


def call(
    tool: str, value: Any, response: Any, call_id: str | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """The start and the good end of one call."""
    shared = {"tool_name": tool, "tool_input": value, "tool_use_id": call_id, **fields}
    return [hook("PreToolUse", **shared), hook("PostToolUse", tool_response=response, **shared)]


def bash(command: str, call_id: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    response = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
    return call("Bash", {"command": command}, response, call_id or f"id-{command}", **fields)


def skill(name: str, call_id: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    response = {"success": True, "commandName": name}
    return call("Skill", {"skill": name}, response, call_id or f"skill-{name}", **fields)


def prompt(text: str, prompt_id: str) -> dict[str, Any]:
    return hook("UserPromptSubmit", prompt=text, prompt_id=prompt_id)


def recording(name: str) -> pl.DataFrame:
    """The events of one recording of the real client."""
    path = shared_data("claude_code", "hooks", f"{name}.jsonl")
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    return frame(event(r["hook"], r["captured_at"], n, file=path.name) for n, r in enumerate(records))


def legacy_sessions(only: Sequence[str] = ()) -> pl.DataFrame:
    """The events of the real sessions in the older format; `offset` is the line, from 1."""
    rows = []
    for path in sorted(shared_data("agent_sessions").glob("*/events.jsonl")):
        if not only or path.parent.name in only:
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                rows.append(_legacy(json.loads(line), path.parent.name, number))
    return frame(rows)


def _legacy(record: dict[str, Any], session: str, number: int) -> dict[str, Any]:
    kind = _LEGACY_KINDS[record["type"]]
    fields = {name: record[name] for name in ("tool_name", "tool_input", "tool_response")}
    at = datetime.fromisoformat(record["timestamp"]).timestamp()
    return event(
        {"hook_event_name": kind, "session_id": session, **fields}, at, number, source="legacy", file=session
    )
