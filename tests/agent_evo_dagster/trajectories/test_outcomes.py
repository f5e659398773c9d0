"""Outcomes come from the fields of each tool, with the field as the reason; never from words."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.trajectories.outcomes import Verdict, judge_batch, judge_response
from agent_evo_dagster.trajectories.types import Outcome


def judged(tool: str, response: Any) -> Verdict:
    return judge_response(tool, None if response is None else orjson.dumps(response))


BASH = {"stdout": "", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("tool", "response", "outcome", "reason"),
    [
        ("Bash", BASH, "success", "interrupted=false"),
        ("Bash", BASH | {"interrupted": True}, "interrupted", "interrupted=true"),
        ("Bash", BASH | {"backgroundTaskId": "b1", "timedOutAfterMs": 9}, "pending", "backgroundTaskId=b1"),
        (
            "Bash",
            BASH | {"returnCodeInterpretation": "No matches found"},
            "success",
            "returnCodeInterpretation=No matches found",
        ),
        ("Bash", BASH | {"exitCode": 2}, "failure", "exitCode=2"),
        ("Bash", BASH | {"stdout": "12 passed, 0 failed\nTraceback: error"}, "success", "interrupted=false"),
        ("Bash", BASH | {"stderr": "error: fatal"}, "success", "interrupted=false"),
        ("Bash", {"stdout": "x"}, "unknown", "tool_response=unrecognised"),
        ("Bash", "some text", "unknown", "tool_response=unrecognised"),
        ("Bash", None, "unknown", "tool_response=null"),
        ("Skill", {"success": True, "commandName": "x"}, "success", "success=true"),
        ("Skill", {"success": False, "commandName": "x"}, "failure", "success=false"),
        ("Read", {"type": "text", "file": {"content": "except ValueError: failed"}}, "success", "type=text"),
        ("Edit", {"filePath": "a.py", "newString": "raise Error"}, "success", "filePath=a.py"),
        ("Write", {"type": "create", "filePath": "a.py"}, "success", "filePath=a.py"),
        ("NotebookEdit", {"error": "no cell", "new_source": ""}, "failure", "error=no cell"),
        ("Grep", {"mode": "content", "numFiles": 0}, "success", "numFiles=0"),
        ("Agent", {"status": "completed", "agentId": "x"}, "success", "status=completed"),
        ("Agent", {"status": "async_launched", "agentId": "x"}, "pending", "status=async_launched"),
        ("Agent", {"status": "strange"}, "unknown", "tool_response=unrecognised"),
        ("TaskUpdate", {"success": False, "error": "Task not found"}, "failure", "success=false"),
        ("TaskUpdate", {"success": True}, "success", "success=true"),
        ("TaskCreate", {"task": {"id": "1"}}, "success", "task={...}"),
        ("TaskOutput", {"retrieval_status": "not_ready"}, "success", "retrieval_status=not_ready"),
        ("TaskStop", {"task_id": "b1", "message": "Successfully stopped"}, "success", "task_id=b1"),
        ("WebFetch", {"code": 200}, "success", "code=200"),
        ("WebFetch", {"code": 404}, "failure", "code=404"),
        ("ScheduleWakeup", {"scheduledFor": 5}, "success", "scheduledFor=5"),
        ("mcp__demo__echo", [{"type": "text", "text": "error"}], "success", "kind=PostToolUse"),
        ("mcp__demo__echo", {"isError": True}, "failure", "isError=true"),
        ("ToolSearch", {"matches": []}, "success", "kind=PostToolUse"),
    ],
)
def test_each_tool_has_its_rule(tool: str, response: Any, outcome: str, reason: str) -> None:
    verdict = judged(tool, response)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_an_error_that_the_fields_carry_is_kept() -> None:
    verdict = judged("TaskUpdate", {"success": False, "error": "Task not found"})
    assert verdict.error == "Task not found"


@pytest.mark.parametrize(
    ("response", "started", "outcome"),
    [
        ("<tool_use_error>Unknown skill: x</tool_use_error>", False, "failure"),
        ([{"type": "text", "text": "<tool_use_error>bad</tool_use_error>"}], True, "failure"),
        ("needs approval", True, "denied"),
        ("anything", False, "unknown"),
        (None, True, "denied"),
    ],
)
def test_a_call_that_only_a_batch_ends(response: Any, started: bool, outcome: str) -> None:
    assert judge_batch(response, started=started).outcome == outcome


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["Bash", "Read", "Agent", "TaskOutput", "WebFetch", "NotebookEdit", "mcp__a__b"]), JSON
)
def test_any_response_gets_an_outcome_and_a_reason(tool: str, response: Any) -> None:
    verdict = judged(tool, response)
    assert isinstance(verdict.outcome, Outcome)
    assert "=" in verdict.reason


@given(st.text(max_size=200))
def test_no_words_in_an_output_make_a_failure(text: str) -> None:
    assert judged("Bash", BASH | {"stdout": text, "stderr": text}).outcome == "success"


@pytest.mark.parametrize(
    "text", ["", "nothing", "[1", '{"interrupted": false', '{"success": "\\ud800"}', "[" * 5000]
)
def test_a_response_that_cannot_be_read_tells_nothing(text: str) -> None:
    assert judge_response("Bash", text).reason == "tool_response=unrecognised"
