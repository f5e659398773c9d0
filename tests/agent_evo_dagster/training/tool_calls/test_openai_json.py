import pytest

from agent_evo_dagster.training.tool_calls.openai_json import OpenAiFormat
from agent_evo_dagster.training.tool_calls.types import Fault, ToolCall

TOOLS = {"calculate", "finish"}
FUNCTION = '{"name": "calculate", "arguments": "{\\"expression\\": \\"1+2\\"}"}'
GOOD = f'{{"tool_calls": [{{"type": "function", "function": {FUNCTION}}}]}}'
CALL = ToolCall("calculate", {"expression": "1+2"})


def parse(text):
    return OpenAiFormat().parse(text, TOOLS)


def faults(text):
    return [each.fault for each in parse(text).diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"I use a tool.\n{GOOD}",
        f'{{"id": "call_1", "type": "function", "function": {FUNCTION}}}',
        FUNCTION,
    ],
)
def test_a_call_is_read_from_a_message_or_from_its_parts(text):
    assert parse(text).items == (CALL,)
    assert parse(text).recovered == ()


def test_several_calls_of_one_message_keep_their_order():
    second = '{"type": "function", "function": {"name": "finish", "arguments": "{}"}}'
    assert parse(GOOD[:-2] + ", " + second + "]}").items == (CALL, ToolCall("finish", {}))


def test_arguments_without_their_quotes_are_read_and_counted():
    text = '{"function": {"name": "calculate", "arguments": {"expression": "1+2"}}}'
    assert parse(text).items == (CALL,)
    assert parse(text).recovered == (Fault.LOOSE,)


def entry(arguments):
    return f'{{"function": {{"name": "calculate", "arguments": {arguments}}}}}'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"tool_calls": []}', Fault.MALFORMED),
        ('{"tool_calls": {}}', Fault.MALFORMED),
        ('{"tool_calls": [3]}', Fault.MALFORMED),
        ('{"function": "calculate"}', Fault.MALFORMED),
        (entry('"{"'), Fault.MALFORMED),
        (entry('"{} {}"'), Fault.MALFORMED),
        (entry('"null"'), Fault.ARGUMENTS_NOT_OBJECT),
        (entry('"[1]"'), Fault.ARGUMENTS_NOT_OBJECT),
        (entry('"5"'), Fault.ARGUMENTS_NOT_OBJECT),
        (entry("null"), Fault.ARGUMENTS_NOT_OBJECT),
        ("<tool_call>" + FUNCTION, Fault.FOREIGN_FORMAT),
    ],
)
def test_what_is_no_call_becomes_a_diagnostic(text, fault):
    assert parse(text).calls == ()
    assert faults(text) == [fault]
