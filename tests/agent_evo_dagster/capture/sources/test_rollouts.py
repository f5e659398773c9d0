"""Tests of training rollouts as events."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.sources.rollouts import events_of_rollouts
from agent_evo_dagster.capture.types import EVENT_SCHEMA
from agent_evo_dagster.cli.export import reader_of
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.training.tool_calls.registry import named_format
from agent_evo_dagster.training.tool_calls.types import ToolCall
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA
from agent_evo_dagster.trajectories.build import build_trajectories

TEXT = (
    'I add.<tool_call>\n{"name": "calculate", "arguments": {"expression": "1+2"}}\n</tool_call><|im_end|>\n'
    "<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n<|im_start|>assistant\nThe answer is 3"
)


HERMES = reader_of("hermes")
FORMATS = ("hermes", "qwen_xml", "llama_json", "openai")
ADD, FINISH = ToolCall("calculate", {"expression": "1+2"}), ToolCall("finish", {"response": "3"})


def _rollouts(*texts: str) -> pl.DataFrame:
    rows = [
        {"step": 1, "group": 0, "task_id": f"t{n}", "prompt": "1+2?", "text": text, "reward": 1.0}
        for n, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=ROLLOUT_SCHEMA)


def test_a_rollout_is_a_session_with_its_calls() -> None:
    events = events_of_rollouts(_rollouts(TEXT, "none"), run="round-0001", read=HERMES)
    assert events.schema == EVENT_SCHEMA
    first = events.filter(session_id="rollout-round-0001-0")
    assert first.select("kind", "text").rows() == [
        ("UserPromptSubmit", "1+2?"),
        ("MessageDisplay", "I add."),
        ("PreToolUse", None),
        ("PostToolUse", None),
        ("MessageDisplay", "The answer is 3"),
        ("Stop", None),
    ]
    assert first["tool_name"].drop_nulls().to_list() == ["calculate"] * 2
    assert json.loads(first["tool_response"].drop_nulls()[0]) == {"content": "3", "outcome_told": False}
    assert json.loads(first["extra"].drop_nulls()[0])["reward"] == 1.0
    assert events["source"].unique().to_list() == ["rollout"]
    assert events["layer"].unique().to_list() == ["unknown"]  # no skill tells what a rollout works on
    calls = build_trajectories(events).filter(kind="tool_call")
    assert calls.select("tool_input", "outcome").rows() == [('{"expression":"1+2"}', "unknown")]


# What the chat templates of the tests of rendering write after a turn with two calls, answered by 3 and 4.
AFTER = {
    "qwen": "<|im_end|>\n<|im_start|>user\n<tool_response>\n3\n</tool_response>\n<tool_response>\n4\n"
    "</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "embedded": "<|im_end|>\n<|im_start|>tool\n<tool_response>3</tool_response>"
    "<tool_response>4</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "smollm2": "<|im_end|>\n<|im_start|>tool\n3<|im_end|>\n<|im_start|>tool\n4<|im_end|>\n"
    "<|im_start|>assistant\n",
    "llama": "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n3<|eot_id|>"
    "<|start_header_id|>ipython<|end_header_id|>\n\n4<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
}


def told(events: pl.DataFrame) -> list[tuple[object, ...]]:
    """Each event as kind, name, and what it says."""
    rows = events.select("kind", "tool_name", "text", "tool_input", "tool_response").iter_rows()
    found: list[tuple[object, ...]] = []
    for kind, name, text, asked, response in rows:
        if kind == "PreToolUse":
            found.append((kind, name, json.loads(asked)))
        elif kind == "PostToolUse":
            found.append((kind, name, json.loads(response)["content"]))
        else:
            found.append((kind, text))
    return found


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
@pytest.mark.parametrize("name", FORMATS)
def test_calls_are_read_in_the_format_that_they_were_sampled_in(name, after) -> None:
    write = named_format(name).render
    text = f"I add. {write(ADD)}\n{write(ADD)}{after}Done.{write(FINISH)}<|im_end|>"
    assert told(events_of_rollouts(_rollouts(text), run="r", read=reader_of(name))) == [
        ("UserPromptSubmit", "1+2?"),
        ("MessageDisplay", "I add."),
        ("PreToolUse", "calculate", ADD.arguments),
        ("PreToolUse", "calculate", ADD.arguments),
        ("PostToolUse", "calculate", "3"),
        ("PostToolUse", "calculate", "4"),
        ("MessageDisplay", "Done."),
        ("PreToolUse", "finish", FINISH.arguments),
        ("PostToolUse", "finish", None),
        ("Stop", None),
    ]


def test_calls_of_one_object_are_two_in_one_place() -> None:
    calls = [json.loads(named_format("openai").render(each))["tool_calls"][0] for each in (ADD, FINISH)]
    both = json.dumps({"tool_calls": calls})
    events = events_of_rollouts(_rollouts(f"a {both} b"), run="r", read=reader_of("openai"))
    assert told(events)[1:5] == [
        ("MessageDisplay", "a"),
        ("PreToolUse", "calculate", ADD.arguments),
        ("PreToolUse", "finish", FINISH.arguments),
        ("MessageDisplay", "b"),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_a_broken_call_is_answered_as_one_and_takes_no_result_of_another(name) -> None:
    good = named_format(name).render(ADD)
    text = f"{good[: int(len(good) * 0.7)]}\n{good}{AFTER['smollm2']}"
    first, second, *ends = told(events_of_rollouts(_rollouts(text), run="r", read=reader_of(name)))[1:5]
    assert first[:2] == ("PreToolUse", None) and str(first[2]) in text
    assert second == ("PreToolUse", "calculate", ADD.arguments)
    assert ends == [("PostToolUse", None, "3"), ("PostToolUse", "calculate", "4")]


def test_a_policy_that_writes_results_answers_no_call() -> None:
    call = named_format("hermes").render(ADD)
    text = f"{call}<tool_response>7</tool_response>{AFTER['embedded']}"
    events = told(events_of_rollouts(_rollouts(text), run="r", read=HERMES))
    assert ("PostToolUse", "calculate", "3") in events
    assert ("MessageDisplay", "<tool_response>7</tool_response>") in events


def test_what_an_environment_says_beside_results_is_a_prompt() -> None:
    text = "3?<|im_end|>\n<|im_start|>user\nAre you sure?<|im_end|>\n<|im_start|>assistant\nYes"
    assert told(events_of_rollouts(_rollouts(text), run="r", read=HERMES))[1:4] == [
        ("MessageDisplay", "3?"),
        ("UserPromptSubmit", "Are you sure?"),
        ("MessageDisplay", "Yes"),
    ]


def test_a_call_that_ends_the_rollout_was_not_broken_off() -> None:
    text = '<tool_call>{"name": "finish", "arguments": {"response": "3"}}</tool_call>'
    calls = build_trajectories(events_of_rollouts(_rollouts(text), run="r", read=HERMES)).filter(
        kind="tool_call"
    )
    assert calls.select("tool_name", "outcome").rows() == [("finish", "unknown")]


def test_a_call_that_cannot_be_read_stays_text() -> None:
    events = events_of_rollouts(_rollouts("<tool_call>{not json}</tool_call>"), run="r", read=HERMES)
    (given,) = events.filter(kind="PreToolUse")["tool_input"]
    assert json.loads(given) == "<tool_call>{not json}</tool_call>"


def test_a_frame_of_another_kind_is_refused() -> None:
    with pytest.raises(CaptureError, match="lacks task_id, prompt, text"):
        events_of_rollouts(pl.DataFrame({"x": [1]}), run="r", read=HERMES)


TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
PIECES = st.sampled_from([*TAGS, "<|im_start|>user\n", "<|im_end|>", '{"name": 1}', "{"])


@settings(deadline=None, max_examples=100)
@given(name=st.sampled_from(FORMATS), text=st.lists(PIECES | st.text(max_size=5), max_size=8).map("".join))
def test_any_text_becomes_events_with_ids_of_their_own(name: str, text: str) -> None:
    events = events_of_rollouts(_rollouts(text, text), run="r", read=reader_of(name))
    assert events["event_id"].n_unique() == events.height
    assert events.equals(events_of_rollouts(_rollouts(text, text), run="r", read=reader_of(name)))
    assert build_trajectories(events).height >= 4
