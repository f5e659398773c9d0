import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.training.tool_calls.hermes import CLOSE, OPEN, HermesFormat
from agent_evo_dagster.training.tool_calls.types import Fault, ToolCall

TOOLS = {"calculate", "finish"}
GOOD = '<tool_call>{"name":"calculate","arguments":{"expression":"1+2"}}</tool_call>'
CALL = ToolCall("calculate", {"expression": "1+2"})


def parse(text):
    return HermesFormat().parse(text, TOOLS)


def faults(text):
    return [diagnostic.fault for diagnostic in parse(text).diagnostics]


def body(text):
    return OPEN + text + CLOSE


def test_a_good_call_is_read():
    assert parse(GOOD).items == (CALL,)


def test_text_and_white_space_around_calls_do_not_matter():
    assert parse(f"I think.\n{OPEN}\n {GOOD[len(OPEN) : -len(CLOSE)]} \n{CLOSE} done").items == (CALL,)


def test_several_calls_keep_their_order():
    second = '<tool_call>{"name":"finish","arguments":{"response":"3"}}</tool_call>'
    assert [call.name for call in parse(GOOD + "\n" + second).calls] == ["calculate", "finish"]


def test_a_closing_tag_inside_a_json_string_belongs_to_the_string():
    call = ToolCall("finish", {"response": "a</tool_call>b"})
    assert parse(HermesFormat().render(call)).items == (call,)


def test_a_stray_closing_tag_is_reported_and_the_call_after_it_kept():
    parsed = parse(f"{CLOSE}{GOOD}")
    assert parsed.calls == (CALL,)
    assert faults(f"{CLOSE}{GOOD}") == [Fault.STRAY_CLOSING_TAG]


@pytest.mark.parametrize(
    "unclosed",
    ['<tool_call>{"name":"calculate","argu', '<tool_call>{"name":"calculate","arguments":{}} and then '],
)
def test_an_unclosed_call_before_a_good_one_is_reported_and_the_good_one_kept(unclosed):
    assert parse(unclosed + GOOD).calls == (CALL,)
    assert faults(unclosed + GOOD) == [Fault.TRUNCATED]


def test_a_call_that_is_never_closed_is_not_executed():
    assert parse(GOOD[: -len(CLOSE)]).calls == ()
    assert faults(GOOD[: -len(CLOSE)]) == [Fault.TRUNCATED]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"name":"calculate","arguments":{"expression":"1+2}}', Fault.MALFORMED),
        ("calculate(1+2)", Fault.MALFORMED),
        ("", Fault.MALFORMED),
        ("[1]", Fault.MALFORMED),
        ('{"name":"calculate"}', Fault.MALFORMED),
        ('{"name":3,"arguments":{}}', Fault.MALFORMED),
        ('{"name":"calculate","arguments":{"expression":NaN}}', Fault.MALFORMED),
        ('{"name":"calculate","arguments":{}} extra', Fault.MALFORMED),
        ("[" * 20_000, Fault.MALFORMED),
        ('{"name":"calculate","arguments":{"expression":' + "9" * 5000 + "}}", Fault.MALFORMED),
        ('{"name":"rm","arguments":{}}', Fault.UNKNOWN_TOOL),
        ('{"name":"calculate","arguments":null}', Fault.ARGUMENTS_NOT_OBJECT),
        ('{"name":"calculate","arguments":["1+2"]}', Fault.ARGUMENTS_NOT_OBJECT),
        ('{"name":"calculate","arguments":5}', Fault.ARGUMENTS_NOT_OBJECT),
        ('{"name":"calculate","arguments":"{}"}', Fault.ARGUMENTS_NOT_OBJECT),
        ("<function=calculate><parameter=expression>1+2</parameter></function>", Fault.FOREIGN_FORMAT),
    ],
)
def test_what_is_no_call_becomes_one_diagnostic(text, fault):
    assert parse(body(text)).calls == ()
    assert faults(body(text)) == [fault]


def test_a_call_in_another_formats_dress_is_never_silently_nothing():
    assert faults("<function=calculate><parameter=expression>1</parameter></function>") == [
        Fault.FOREIGN_FORMAT
    ]


def test_messages_never_quote_the_model():
    text = body('{"name":"<|im_end|>","arguments":{}}') + body("<|im_end|>") + "<function=<|im_end|>"
    assert all("im_end" not in diagnostic.message for diagnostic in parse(text).diagnostics)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=4))
def test_what_is_rendered_is_read_back(arguments):
    calls = [ToolCall("finish", each) for each in arguments]
    text = "\n".join(HermesFormat().render(call) for call in calls)
    assert parse(text).items == tuple(calls)


fragments = st.sampled_from(
    [OPEN, CLOSE, "<function=", '{"name":"finish"', ',"arguments":{}}', '"', "{", "}", " ", "x", "\\"]
)


@given(st.lists(fragments, max_size=20).map("".join))
def test_any_text_is_parsed_without_raising_and_every_opened_call_is_accounted_for(text):
    parsed = parse(text)
    if OPEN in text or CLOSE in text:
        assert parsed.items
    for call in parsed.calls:
        assert call.name in TOOLS
        assert json.dumps(call.arguments) in ("{}",)
