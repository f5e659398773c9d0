import pytest

from agent_evo_dagster.training.tool_calls.llama_json import LlamaJsonFormat
from agent_evo_dagster.training.tool_calls.types import Fault, ToolCall

TOOLS = {"calculate", "finish"}
GOOD = '{"name": "calculate", "parameters": {"expression": "1+2"}}'
CALL = ToolCall("calculate", {"expression": "1+2"})


def parse(text):
    return LlamaJsonFormat().parse(text, TOOLS)


@pytest.mark.parametrize("text", [GOOD, f"\n{GOOD} ", f"<|python_tag|>{GOOD}", f"{GOOD}<|eom_id|>"])
def test_a_turn_that_is_one_object_is_a_call(text):
    assert parse(text).items == (CALL,)
    assert parse(text).recovered == ()


def test_calls_are_parted_by_semicolons():
    assert parse(f"{GOOD}; {GOOD}").items == (CALL, CALL)


@pytest.mark.parametrize(
    "text", [f"I use a tool: {GOOD}", f"```json\n{GOOD}\n```", GOOD.replace("parameters", "arguments")]
)
def test_a_loose_call_is_read_and_counted(text):
    assert parse(text).items == (CALL,)
    assert parse(text).recovered == (Fault.LOOSE,)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"answer": 3}', Fault.MALFORMED),
        ('{"name": "calculate"}', Fault.MALFORMED),
        ('{"name": "calculate", "parameters": {"expression": NaN}}', Fault.MALFORMED),
        ("{not json}", Fault.MALFORMED),
        ('{"name": "calculate", "parameters": null}', Fault.ARGUMENTS_NOT_OBJECT),
        ('{"name": "calculate", "parameters": [1]}', Fault.ARGUMENTS_NOT_OBJECT),
        ('{"name": "calculate", "parameters": 5}', Fault.ARGUMENTS_NOT_OBJECT),
        ('<function=calculate>{"expression": "1"}</function>', Fault.FOREIGN_FORMAT),
        (f"<tool_call>{GOOD}</tool_call>", Fault.FOREIGN_FORMAT),
    ],
)
def test_what_is_no_call_becomes_a_diagnostic(text, fault):
    assert parse(text).calls == ()
    assert [each.fault for each in parse(text).diagnostics] == [fault]
