"""The quick path of reading: what it reads, it reads as the thorough path does."""

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings

from agent_evo_dagster.capture.fields import is_utf8, parse
from agent_evo_dagster.capture.quick import quick_event
from agent_evo_dagster.capture.records import OpenCalls, Place, event_of
from agent_evo_dagster.capture.types import Event
from tests.agent_evo_dagster.capture.spools import T0, legacy, record
from tests.agent_evo_dagster.capture.test_read import JSON, PIECES

PLACE = Place("hooks/s-1.jsonl", 7, "s-1", "e" * 32)
JSON_COLUMNS = ("tool_input", "tool_response", "extra")


def thorough(line: bytes) -> Event:
    return event_of(parse(line), PLACE, OpenCalls())


def values(event: Event) -> dict[str, object]:
    """The columns, JSON text as what it says."""
    columns = event._asdict()
    return columns | {name: columns[name] and orjson.loads(columns[name]) for name in JSON_COLUMNS}


@pytest.mark.parametrize(
    "line",
    [
        record(
            tool_input={"command": "ls"}, tool_response=[1, None, {"a": 'q"\\/'}], duration_ms=4, cwd="/x"
        ),
        record(hook_event_name="UserPromptSubmit", tool_use_id=None, prompt="two\nlines", agent_id=None),
        record(at=1796173415.111871, hook_event_name="Stop", last_assistant_message=None),
        legacy(),
        legacy(type="turn_end", tool_name=None, tool_input=None, tool_response=None),
        (Path(__file__).parents[3] / "samples" / "first-round.jsonl").read_bytes().split(b"\n")[0],
    ],
    ids=["call", "prompt", "no-text", "legacy-call", "legacy-turn", "sample"],
)
def test_ordinary_records_take_the_quick_path_and_give_the_same_event(line: bytes) -> None:
    event = quick_event(line, PLACE)
    assert event is not None and values(event) == values(thorough(line))


@pytest.mark.parametrize(
    "line",
    [
        record(tool_use_id=None),
        record(session_id=7),
        record(tool_name=["Bash"]),
        record(hook_event_name=None),
        record(at="soon"),
        record()[:-1],
        record() + b"x",
        legacy(timestamp=123),
        legacy(type="unheard of"),
        record(event="Stop")[:-2] + b'},"event":"Stop"}',
        record()[:-1] + b',"host":"h"}',
        legacy(hook={}),
        b"null",
        b'{"hook":' + b'{"a":' * 3000 + b"1" + b"}" * 3001,
    ],
)
def test_whatever_is_odd_is_left_to_the_thorough_path(line: bytes) -> None:
    assert quick_event(line, PLACE) is None


def test_the_json_text_of_a_call_is_kept_as_it_was_captured() -> None:
    line = b'{"captured_at":%d,"hook":%b}' % (
        T0,
        b'{"session_id":"s","hook_event_name":"PreToolUse",'
        b'"tool_input": {"b" : 1.0, "a": 1e5},"tool_use_id":"t"}',
    )
    event = quick_event(line, PLACE)
    assert event is not None and event.tool_input == b'{"b" : 1.0, "a": 1e5}'


@settings(max_examples=400, deadline=None)
@given(line=PIECES | JSON.map(lambda value: json.dumps({"captured_at": T0, "hook": value}).encode()))
def test_the_two_paths_never_disagree(line: bytes) -> None:
    if is_utf8(line) and b"\\u" not in line and (event := quick_event(line, PLACE)) is not None:
        assert values(event) == values(thorough(line))
