"""Tests of training rollouts as events."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.sources.rollouts import events_of_rollouts
from agent_evo_dagster.capture.types import EVENT_SCHEMA
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA
from agent_evo_dagster.trajectories.build import build_trajectories

TEXT = (
    'I add.<tool_call>\n{"name": "calculate", "arguments": {"expression": "1+2"}}\n</tool_call><|im_end|>\n'
    "<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n<|im_start|>assistant\nThe answer is 3"
)


def _rollouts(*texts: str) -> pl.DataFrame:
    rows = [
        {"step": 1, "group": 0, "task_id": f"t{n}", "prompt": "1+2?", "text": text, "reward": 1.0}
        for n, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=ROLLOUT_SCHEMA)


def test_a_rollout_is_a_session_with_its_calls() -> None:
    events = events_of_rollouts(_rollouts(TEXT, "none"), run="round-0001")
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


def test_a_call_that_ends_the_rollout_was_not_broken_off() -> None:
    text = '<tool_call>{"name": "finish", "arguments": {"response": "3"}}</tool_call>'
    calls = build_trajectories(events_of_rollouts(_rollouts(text), run="r")).filter(kind="tool_call")
    assert calls.select("tool_name", "outcome").rows() == [("finish", "unknown")]


def test_a_call_that_cannot_be_read_stays_text() -> None:
    events = events_of_rollouts(_rollouts("<tool_call>{not json}</tool_call>"), run="r")
    assert events.filter(kind="PreToolUse")["tool_input"].to_list() == ['"{not json}"']


def test_a_frame_of_another_kind_is_refused() -> None:
    with pytest.raises(CaptureError, match="lacks task_id, prompt, text"):
        events_of_rollouts(pl.DataFrame({"x": [1]}), run="r")


TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
PIECES = st.sampled_from([*TAGS, '{"name": 1}', "{"])


@settings(deadline=None, max_examples=100)
@given(text=st.lists(PIECES | st.text(max_size=5), max_size=8).map("".join))
def test_any_text_becomes_events_with_ids_of_their_own(text: str) -> None:
    events = events_of_rollouts(_rollouts(text, text), run="r")
    assert events["event_id"].n_unique() == events.height
    assert events.equals(events_of_rollouts(_rollouts(text, text), run="r"))
    assert build_trajectories(events).height >= 4
