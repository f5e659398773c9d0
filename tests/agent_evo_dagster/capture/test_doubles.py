"""Tests of events that two hooks of one client captured, on the recordings and on made records."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.capture.spools import record
from tests.agent_evo_dagster.capture.transcripts import SESSION, gathered, put, recorded


def doubled(lines: Iterable[bytes], copies: int = 2) -> bytes:
    """Records as several hooks of one client write them: a little later each, in any order."""
    found = []
    for line in lines:
        for copy in range(copies):
            at = json.loads(line)["captured_at"]
            later = at + copy * (0.004 if isinstance(at, float) else 4_000_000)
            found.append(line.replace(str(at).encode(), str(later).encode(), 1))
    return b"\n".join(found) + b"\n"


def hooks(spool: Path, data: bytes) -> FileSlice:
    return put(spool, f"hooks/{SESSION}.jsonl", data)


def event(second: float, kind: str, **fields: object) -> bytes:
    """A record that has no call id unless given one."""
    told = {"tool_use_id": None, "tool_name": None} | fields
    return record(at=1_740_000_000_000_000_000 + int(second * 1e9), hook_event_name=kind, **told)


def call(second: float, kind: str = "PreToolUse", **fields: object) -> bytes:
    return event(second, kind, tool_name="Bash", tool_input={"command": "ls"}, **fields)


@pytest.mark.parametrize("copies", [2, 3])
def test_recordings_that_hooks_captured_several_times_tell_what_one_hook_captured(
    shared: Callable[[str], Path], tmp_path: Path, copies: int
) -> None:
    slices = recorded(shared("claude_code"), tmp_path / "one")
    once = gathered(tmp_path / "one", slices)
    others = recorded(shared("claude_code"), tmp_path / "many")
    for place, part in enumerate(others):
        if part.file.startswith("hooks"):
            data = (tmp_path / "many" / part.file).read_bytes()
            others[place] = put(tmp_path / "many", part.file, doubled(data.splitlines(), copies))
    many = gathered(tmp_path / "many", others)
    columns = [name for name in once.events.columns if name not in {"event_id", "source_offset"}]
    assert many.events.select(columns).equals(once.events.select(columns))
    assert many.coverage.drop("captured_twice").equals(once.coverage.drop("captured_twice"))
    assert once.coverage["captured_twice"].sum() == 0
    assert many.coverage["captured_twice"].sum() == 161 * (copies - 1) == many.passed["hook/captured_twice"]
    assert many.lines == once.lines + 161 * (copies - 1)


def test_a_call_that_was_captured_twice_counts_once_in_a_session_that_was_not(tmp_path: Path) -> None:
    lines = [event(0, "SessionStart"), call(1, tool_use_id="t1"), event(9, "Stop"), event(20, "SessionEnd")]
    late = [*lines, call(400, tool_use_id="t1")]
    found = gathered(tmp_path, [hooks(tmp_path, b"\n".join(late) + b"\n")])
    assert found.events["kind"].to_list() == ["SessionStart", "PreToolUse", "Stop", "SessionEnd"]
    assert found.coverage["captured_twice"].to_list() == [1]


@pytest.mark.parametrize("field", ["tool_response", "error", "extra", "duration_ms"])
def test_what_differs_in_anything_is_two_events(tmp_path: Path, field: str) -> None:
    lines = [call(n, "PostToolUse", tool_use_id="t1", **{field: 10 + n}) for n in (0, 1)]
    assert gathered(tmp_path, [hooks(tmp_path, b"\n".join(lines) + b"\n")]).events.height == 2


def test_the_same_command_again_is_two_calls_where_no_second_hook_is(tmp_path: Path) -> None:
    lines = [event(0, "SessionStart"), call(1), call(1.2, "PostToolUse"), call(1.4), call(1.6, "PostToolUse")]
    lines += [event(2, "Stop"), event(2.5, "Stop"), event(3, "UserPromptSubmit"), event(4, "SessionEnd")]
    found = gathered(tmp_path, [hooks(tmp_path, b"\n".join(lines) + b"\n")])
    assert found.events.height == len(lines) and "hook/captured_twice" not in found.passed


def test_the_same_command_again_is_two_calls_where_two_hooks_are(tmp_path: Path) -> None:
    end = {"kind": "PostToolUse", "tool_response": {"stdout": "", "stderr": "", "interrupted": False}}
    lines = [event(0, "SessionStart"), call(1), call(1.2, **end), call(1.4), call(1.6, **end)]
    found = gathered(tmp_path, [hooks(tmp_path, doubled(lines))])
    kinds = ["SessionStart", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse"]
    assert found.events["kind"].to_list() == kinds
    calls = build_trajectories(found.events).filter(kind="tool_call")
    assert calls["outcome"].to_list() == ["success", "success"]  # each beginning has its end


def test_a_record_that_one_of_two_hooks_lost_is_kept(tmp_path: Path) -> None:
    lines = doubled([event(n * 10, "Stop", last_assistant_message=str(n)) for n in range(5)]).splitlines()
    found = gathered(tmp_path, [hooks(tmp_path, b"\n".join(lines[:3] + lines[4:]) + b"\n")])
    assert found.events["text"].to_list() == list("01234")
    assert found.coverage["captured_twice"].to_list() == [4]


def test_doubles_of_before_are_not_counted_again_with_a_late_transcript(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    slices = recorded(shared("claude_code"), tmp_path)
    late = [part for part in slices if not part.file.startswith("hooks")]
    earlier = [
        put(tmp_path, part.file, doubled((tmp_path / part.file).read_bytes().splitlines()))
        for part in slices
        if part not in late
    ]
    first, then = gathered(tmp_path, earlier), gathered(tmp_path, late, earlier=earlier)
    assert (first.passed["hook/captured_twice"], first.events.height) == (161, 161)
    assert "hook/captured_twice" not in then.passed
    assert then.events.height == 6 and (then.events["source"] == "transcript").all()
    named = pl.col("session_id").is_in(then.coverage["session_id"].implode())
    assert then.coverage["captured_twice"].sum() == first.coverage.filter(named)["captured_twice"].sum()
