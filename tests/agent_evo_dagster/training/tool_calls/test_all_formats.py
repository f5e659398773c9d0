"""What holds of every format: rendered calls are read back, and no text raises or is silently nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.training.tool_calls.registry import named_format
from agent_evo_dagster.training.tool_calls.types import Fault, ToolCall

TOOLS = {"calculate", "finish"}
FORMATS = ("hermes", "qwen_xml", "llama_json", "openai")
CALL = ToolCall("calculate", {"expression": "1+2"})
every_format = pytest.mark.parametrize("name", FORMATS)

values = st.text(st.characters(codec="utf-8"), max_size=20)
keys = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)


def parse(name, text):
    return named_format(name).parse(text, TOOLS)


def render(name, call=CALL):
    return named_format(name).render(call)


@every_format
@given(arguments=st.dictionaries(keys, values, max_size=3))
def test_what_is_rendered_is_read_back(name, arguments):
    call = ToolCall("finish", arguments)
    if name == "llama_json" and any("<tool_call>" in value for value in arguments.values()):
        return
    assert parse(name, render(name, call)).items == (call,)


@every_format
def test_several_calls_keep_their_order(name):
    second = ToolCall("finish", {"response": "3"})
    assert parse(name, render(name) + "\n" + render(name, second)).calls == (CALL, second)


@every_format
def test_the_words_around_calls_are_what_no_span_holds(name):
    second = ToolCall("finish", {"response": "3"})
    text = f"I add. {render(name)}\nand then{render(name, second)} done"
    parsed = parse(name, text)
    assert parsed.calls == (CALL, second)
    (one, other), (three, four) = parsed.spans
    assert (text[:one], text[other:three].strip(), text[four:]) == ("I add. ", "and then", " done")


@every_format
@pytest.mark.parametrize("tag", ["</tool_call>", "</function>x", "; }", "</parameter> x", '"}]'])
def test_what_ends_a_call_may_stand_within_an_argument(name, tag):
    call = ToolCall("finish", {"response": f"a{tag}b"})
    parsed = parse(name, render(name, call))
    if (name, tag) == ("qwen_xml", "</function>x"):
        assert parsed.calls == (call,)
    else:
        assert parsed.items == (call,)


@every_format
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_call_that_is_cut_is_reported_and_not_executed(name, share):
    text = render(name)
    parsed = parse(name, text[: int(len(text) * share)])
    assert parsed.calls == ()
    assert [each.fault for each in parsed.diagnostics] == [Fault.TRUNCATED]


@every_format
def test_an_unclosed_call_before_a_good_one_is_reported_and_the_good_one_kept(name):
    text = render(name)
    parsed = parse(name, text[: int(len(text) * 0.7)] + "\n" + text)
    assert parsed.calls == (CALL,)
    assert [each.fault for each in parsed.diagnostics] == [Fault.TRUNCATED]


@every_format
def test_a_tool_that_does_not_exist_is_reported(name):
    parsed = parse(name, render(name, ToolCall("rm", {"path": "x"})))
    assert parsed.calls == ()
    assert [each.fault for each in parsed.diagnostics] == [Fault.UNKNOWN_TOOL]


@every_format
@pytest.mark.parametrize("other", FORMATS)
def test_a_call_in_another_formats_dress_is_never_silently_nothing(name, other):
    assert parse(name, render(other)).items


@every_format
def test_words_alone_are_no_call(name):
    assert parse(name, "The answer is 3, and {braces} are words.").items == ()


@every_format
def test_messages_never_quote_the_model(name):
    text = render(name, ToolCall("<|im_end|>", {"<|im_end|>": "<|im_end|>"}))
    for at in range(len(text)):
        assert all("im_end" not in each.message for each in parse(name, text[:at]).diagnostics)


fragments = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<function=finish>", "<function=", "</function>", "<parameter=a>",
        "</parameter>", '{"name":"finish"', ',"arguments":{}}', ',"parameters":{}}', '{"tool_calls":[', "]}",
        '{"function":', '"', "{", "}", " ", "\n", "x", "\\", ";", "<|python_tag|>", "[" * 50,
    ]
)  # fmt: skip


@every_format
@given(text=st.lists(fragments, max_size=20).map("".join))
def test_any_text_is_parsed_without_raising(name, text):
    parsed = parse(name, text)
    assert all(call.name in TOOLS and isinstance(call.arguments, dict) for call in parsed.calls)
    assert len(parsed.recovered) <= len(parsed.calls)
    ends = [0, *(at for span in dict.fromkeys(parsed.spans) for at in span)]
    assert len(parsed.spans) == len(parsed.items)
    assert ends == sorted(ends) and ends[-1] <= len(text)


@every_format
def test_a_long_hostile_text_is_parsed_in_reasonable_time(name):
    for piece in (
        "<tool_call>",
        '{"name":',
        "<function=a>",
        "<parameter=a>",
        '{"tool_calls":[',
        "</parameter>",
    ):
        parse(name, "<function=finish>" + piece * 4000)
        parse(name, piece * 4000)
