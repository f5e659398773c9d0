"""Events join to steps: by id, by content, and by what a batch names."""

import polars as pl
import pytest

from agent_evo_dagster.errors import TrajectoryError
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.trajectories.types import STEP_SCHEMA
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, frame, hook, hooks, prompt

DONE = {"stdout": "", "stderr": "", "interrupted": False}


def calls(steps: pl.DataFrame) -> list[tuple[str, str, int]]:
    rows = (
        steps.filter(kind="tool_call").select("tool_name", "outcome", pl.col("event_ids").list.len()).rows()
    )
    return [(tool, outcome, count) for tool, outcome, count in rows]


def batch(*named: tuple[str, object, str | None, object]) -> dict[str, object]:
    keys = ("tool_name", "tool_input", "tool_use_id", "tool_response")
    return hook("PostToolBatch", tool_calls=[dict(zip(keys, values, strict=True)) for values in named])


def test_start_end_and_batch_of_a_call_are_one_step() -> None:
    steps = build_trajectories(hooks(*bash("ls", "c1"), batch(("Bash", {"command": "ls"}, "c1", "out"))))
    assert calls(steps) == [("Bash", "success", 3)]
    assert steps["mark"].to_list() == ["PreToolUse"]


def test_steps_have_the_documented_schema_even_where_there_are_none() -> None:
    assert build_trajectories(frame([])).schema == STEP_SCHEMA
    assert build_trajectories(hooks(*bash("ls"))).schema == STEP_SCHEMA


def test_a_frame_without_the_columns_of_events_is_refused_by_name() -> None:
    with pytest.raises(TrajectoryError, match=r"lacks .*tool_use_id.*capture\.read"):
        build_trajectories(hooks().drop("tool_use_id"))


def test_calls_without_an_id_are_paired_by_content() -> None:
    first, second = bash("ls"), bash("pwd")
    for record in (*first, *second):
        record["tool_use_id"] = None
    steps = build_trajectories(hooks(first[0], second[0], second[1], first[1]))
    assert calls(steps) == [("Bash", "success", 2), ("Bash", "success", 2)]
    assert '"pwd"' in steps["tool_input"][1]


def test_a_derived_id_pairs_by_content_as_no_id_does() -> None:
    events = hooks(*bash("ls")).with_columns(tool_use_id=pl.col("event_id"), derived=pl.lit(["tool_use_id"]))
    steps = build_trajectories(events)
    assert calls(steps) == [("Bash", "success", 2)]
    assert steps["tool_use_id"].to_list() == [None]


def test_a_killed_call_without_an_id_does_not_take_the_end_of_a_later_equal_one() -> None:
    killed, again = bash("make"), bash("make")
    for record in (*killed, *again):
        record["tool_use_id"] = None
    steps = build_trajectories(hooks(killed[0], hook("Stop"), *again))
    assert calls(steps) == [("Bash", "interrupted", 1), ("Bash", "success", 2)]


def test_an_end_recorded_milliseconds_before_its_start_is_the_same_call() -> None:
    for call_id in ("c1", None):
        start, end = bash("ls", "c1")
        start |= {"at": 1000.004, "tool_use_id": call_id}
        end |= {"at": 1000.001, "tool_use_id": call_id}
        steps = build_trajectories(hooks(end, start))
        assert calls(steps) == [("Bash", "success", 2)]
        assert steps["duration_ms"][0] == pytest.approx(3.0)
        assert steps["mark"][0] == "PreToolUse"


def test_a_negative_duration_of_the_client_is_replaced_by_the_clock() -> None:
    start, end = bash("ls")
    steps = build_trajectories(hooks(start, end | {"duration_ms": -5}))
    assert steps["duration_ms"].to_list() == [1000.0]


def test_a_batch_belongs_to_one_step_and_is_evidence_of_the_others() -> None:
    one, two = bash("one", "c1"), bash("two", "c2")
    both = batch(("Bash", {"command": "one"}, "c1", "1"), ("Bash", {"command": "two"}, "c2", "2"))
    events = hooks(one[0], two[0], one[1], two[1], both)
    steps = build_trajectories(events)
    assert steps["event_ids"].list.len().to_list() == [3, 2]
    assert steps["evidence_ids"].to_list() == [[], [events["event_id"][4]]]


def test_a_batch_belongs_to_the_call_that_it_alone_ends() -> None:
    good = bash("one", "c1")
    error = "<tool_use_error>No such tool available: Nope</tool_use_error>"
    steps = build_trajectories(
        hooks(*good, batch(("Bash", {"command": "one"}, "c1", "1"), ("Nope", {"x": 1}, "c2", error)))
    )
    assert calls(steps) == [("Bash", "success", 2), ("Nope", "failure", 1)]
    assert steps["error"].to_list() == [None, "No such tool available: Nope"]


def test_two_invalid_calls_of_one_batch_are_two_steps_with_ids_of_their_own() -> None:
    error = "<tool_use_error>bad input</tool_use_error>"
    events = hooks(batch(("Bash", {}, "c1", error), ("Read", {}, "c2", error)))
    steps = build_trajectories(events)
    assert calls(steps) == [("Bash", "failure", 1), ("Read", "failure", 0)]
    assert steps["step_id"].n_unique() == 2
    assert steps["evidence_ids"].to_list() == [[], events["event_id"].to_list()]


def test_a_batch_that_names_calls_without_ids_finds_them_by_content() -> None:
    start = hook("PreToolUse", tool_name="Edit", tool_input={"file_path": "a", "old_string": "b"})
    named = ("Edit", {"old_string": "b", "file_path": "a"}, None, "<tool_use_error>changed</tool_use_error>")
    assert calls(build_trajectories(hooks(start, batch(named)))) == [("Edit", "failure", 2)]


def test_a_batch_that_names_no_call_is_a_mark() -> None:
    steps = build_trajectories(
        hooks(hook("PostToolBatch", tool_calls=None), hook("PostToolBatch", tool_calls=[3]))
    )
    assert steps["kind"].to_list() == ["lifecycle", "lifecycle"]


def test_questions_about_a_call_belong_to_it() -> None:
    start, end = call("Bash", {"command": "rm x"}, DONE, "c1")
    asked = hook("PermissionRequest", tool_name="Bash", tool_input={"command": "rm x"})
    inline = hook("PreSkillShellCommand", tool_name="Bash", tool_input={}, tool_use_id="c1:preamble-0")
    steps = build_trajectories(hooks(start, asked, inline, end))
    assert calls(steps) == [("Bash", "success", 4)]


def test_a_prompt_and_its_expansion_are_one_step_that_holds_the_command() -> None:
    expansion = hook(
        "UserPromptExpansion",
        prompt="/demo a",
        prompt_id="p1",
        expansion_type="slash_command",
        command_name="demo",
        command_args="a",
    )
    steps = build_trajectories(hooks(prompt("/demo a", "p1"), expansion, prompt("next", "p2")))
    assert steps["kind"].to_list() == ["prompt", "prompt"]
    assert steps["text"].to_list() == ["/demo a", "next"]
    assert '"command_name":"demo"' in steps["tool_input"][0]


def test_the_parts_of_a_message_are_one_step() -> None:
    parts = [hook("MessageDisplay", message_id="m1", delta=text) for text in ("Hel", "lo")]
    steps = build_trajectories(hooks(*parts, hook("MessageDisplay", message_id="m2", delta="x")))
    assert steps["text"].to_list() == ["Hello", "x"]


def test_events_with_one_timestamp_are_all_kept_in_the_order_of_the_source() -> None:
    events = hooks(*({"at": 5.0, **hook("Notification", message=str(n))} for n in range(5)))
    steps = build_trajectories(events.reverse())
    assert steps["event_ids"].explode().to_list() == events["event_id"].to_list()


def test_reading_twice_doubles_nothing() -> None:
    events = hooks(prompt("go", "p1"), *bash("ls"), hook("Stop"))
    assert build_trajectories(pl.concat([events, events])).equals(build_trajectories(events))


def test_a_session_that_grew_keeps_the_ids_of_its_steps() -> None:
    events = hooks(prompt("go", "p1"), *bash("ls"), *bash("pwd"), hook("Stop"))
    whole = build_trajectories(events)["step_id"].to_list()
    for count in range(events.height):
        part = build_trajectories(events.head(count))["step_id"].to_list()
        assert part == whole[: len(part)]


def test_input_and_response_that_are_not_json_are_no_end_of_the_session() -> None:
    events = hooks(*bash("ls"), *bash("pwd")).with_columns(
        tool_response=pl.lit("{cut"), tool_input=pl.lit("{")
    )
    assert build_trajectories(events)["outcome"].to_list() == ["unknown", "unknown"]
