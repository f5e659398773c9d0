import threading

import pytest

from agent_evo_dagster.training.environments.tools import (
    Parameter,
    Tool,
    ToolBox,
    ToolRefusedError,
    ToolResult,
    converted,
)
from agent_evo_dagster.training.environments.types import ToolFault
from agent_evo_dagster.training.tool_calls.types import ToolCall


def tool(run, **parameters):
    return Tool("look", "Look it up.", parameters or {"what": Parameter()}, run)


def test_a_call_reaches_its_tool_with_its_arguments():
    box = ToolBox([tool(lambda what: f"saw {what}")])
    assert box.execute(ToolCall("look", {"what": "x", "other": 1})) == ToolResult("saw x")


def test_a_missing_or_odd_argument_is_the_policys_fault_and_named():
    box = ToolBox([tool(lambda what: what)])
    for arguments in ({}, {"what": None}, {"what": ["x"]}, {"what": True}):
        result = box.execute(ToolCall("look", arguments))
        assert result == ToolResult("Error: look needs what", ToolFault.BAD_ARGUMENTS)


def test_an_argument_that_may_be_missing_is_left_to_the_tool():
    box = ToolBox([tool(lambda what="all": what, what=Parameter(required=False))])
    assert box.execute(ToolCall("look", {})).text == "all"


def refuse(what):
    raise ToolRefusedError("not that")


def test_what_a_tool_refuses_goes_back_to_the_policy():
    assert ToolBox([tool(refuse)]).execute(ToolCall("look", {"what": "x"})) == ToolResult(
        "Error: not that", ToolFault.REFUSED
    )


def test_what_a_tool_raises_otherwise_is_the_environments_own_failure():
    with pytest.raises(ZeroDivisionError):
        ToolBox([tool(lambda what: 1 / 0)], seconds=5).execute(ToolCall("look", {"what": "x"}))


def test_a_tool_that_takes_too_long_is_told_to_the_policy():
    release = threading.Event()
    box = ToolBox([tool(lambda what: release.wait(30) and "")], seconds=0.05)
    assert box.execute(ToolCall("look", {"what": "x"})) == ToolResult(
        "Error: the tool took too long", ToolFault.TOOL_TIMEOUT
    )
    release.set()


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, "string", "3"),
        ("3", "integer", 3),
        ("3.5", "integer", None),
        ("3.5", "number", 3.5),
        (3, "number", 3),
        (True, "integer", None),
        ("true", "boolean", True),
        (1, "boolean", None),
        ("[1]", "array", [1]),
        ('{"a": 1}', "object", {"a": 1}),
        ("{", "object", None),
        ("[" * 100_000, "array", None),
        (None, "string", None),
    ],
)
def test_arguments_become_what_the_parameter_is_or_nothing(value, kind, expected):
    assert converted(value, kind) == expected


def test_an_integer_with_too_many_digits_is_no_text():
    assert converted(10**5000, "string") is None


def test_a_schema_is_what_chat_templates_list():
    schema = tool(str, what=Parameter("integer", "Which.", required=False)).schema
    assert schema["type"] == "function"
    assert schema["function"]["parameters"] == {
        "type": "object",
        "properties": {"what": {"type": "integer", "description": "Which."}},
        "required": [],
    }
