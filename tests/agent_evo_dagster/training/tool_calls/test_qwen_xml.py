import pytest

from agent_evo_dagster.training.tool_calls.qwen_xml import QwenXmlFormat
from agent_evo_dagster.training.tool_calls.types import Fault, ToolCall

TOOLS = {"calculate", "finish"}
GOOD = (
    "<tool_call>\n<function=calculate>\n<parameter=expression>\n1+2\n</parameter>\n</function>\n</tool_call>"
)
CALL = ToolCall("calculate", {"expression": "1+2"})


def parse(text):
    return QwenXmlFormat().parse(text, TOOLS)


def faults(text):
    return [diagnostic.fault for diagnostic in parse(text).diagnostics]


def test_a_good_call_is_read_and_written_as_the_models_template_writes_it():
    assert parse(f"I think.\n{GOOD}").items == (CALL,)
    assert parse(GOOD).recovered == ()
    assert QwenXmlFormat().render(CALL) == GOOD


def test_a_call_on_one_line_is_the_same():
    assert parse(GOOD.replace("\n", "")).items == (CALL,)


def test_a_value_keeps_its_own_lines_and_tags():
    value = "if a < b:\n  <b></tool_call> </parameter> x\n\n"
    assert parse(QwenXmlFormat().render(ToolCall("finish", {"response": value}))).calls[0].arguments == {
        "response": value
    }


def test_values_that_are_not_text_are_written_as_json():
    assert "\n[1, null]\n" in QwenXmlFormat().render(ToolCall("finish", {"response": [1, None]}))


@pytest.mark.parametrize(
    "text",
    [
        GOOD.removeprefix("<tool_call>\n"),  # the opening tag is often left out
        GOOD.removesuffix("\n</tool_call>"),
        GOOD.replace("</parameter>\n", ""),
    ],
)
def test_a_call_that_lacks_a_tag_and_can_only_mean_one_thing_is_read_and_counted(text):
    assert parse(text).calls == (CALL,)
    assert Fault.LOOSE in parse(text).recovered


def test_a_parameter_that_is_not_closed_does_not_swallow_the_next():
    text = GOOD.replace("</parameter>\n", "<parameter=digits>\n2\n</parameter>\n")
    assert parse(text).calls == (ToolCall("calculate", {"expression": "1+2", "digits": "2"}),)
    assert parse(text).recovered == (Fault.LOOSE,)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("</tool_call>", Fault.STRAY_CLOSING_TAG),
        ("</function>", Fault.STRAY_CLOSING_TAG),
        ("<tool_call>calculate(1+2)</tool_call>", Fault.MALFORMED),
        ('<tool_call>{"name":"calculate","arguments":{}}</tool_call>', Fault.FOREIGN_FORMAT),
        ("<function=calculate>1+2</function>", Fault.MALFORMED),
        ("<function=calculate><parameter=a>1</parameter>x</function>", Fault.MALFORMED),
        (
            "<function=calculate><parameter=a>1</parameter><parameter=a>2</parameter></function>",
            Fault.MALFORMED,
        ),
        ("<function=calculate><parameter=a>1", Fault.TRUNCATED),
        ("<function=", Fault.TRUNCATED),
        ("<function=a b></function>", Fault.MALFORMED),
    ],
)
def test_what_is_no_call_becomes_a_diagnostic(text, fault):
    assert parse(text).calls == ()
    assert faults(text) == [fault]


def test_a_stray_closing_tag_before_a_good_call_leaves_it_alone():
    assert parse("</tool_call>" + GOOD).calls == (CALL,)
