"""The real sessions in the older format: hand labels of failures, and outcomes by tool."""

import json
from collections import Counter

import polars as pl
import pytest

from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import legacy_sessions, shared_data


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    return legacy_sessions()


@pytest.fixture(scope="module")
def steps(events: pl.DataFrame) -> pl.DataFrame:
    return build_trajectories(events)


def outcomes_of_labels(events: pl.DataFrame, steps: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Tool, label and outcome of every labelled call."""
    lines = events.select("event_id", "session_id", "source_offset")
    by_event = steps.explode("event_ids").join(lines, left_on=["event_ids"], right_on=["event_id"])
    outcomes = {
        (session, line): (tool, outcome)
        for session, line, tool, outcome in by_event.select(
            "session_id", "source_offset", "tool_name", "outcome"
        ).iter_rows()
    }
    text = shared_data("agent_sessions", "failure_labels.jsonl").read_text(encoding="utf-8")
    labels = [json.loads(line) for line in text.splitlines()]
    found = [(label["label"], *outcomes[label["session_id"], label["line"]]) for label in labels]
    return [(tool, label, outcome) for label, tool, outcome in found]


def test_no_labelled_call_is_a_false_failure(events: pl.DataFrame, steps: pl.DataFrame) -> None:
    labelled = outcomes_of_labels(events, steps)
    assert len(labelled) == 23
    others = Counter(outcome for _, label, outcome in labelled if label != "own_failure")
    assert others == {"success": 20}


def test_own_failures_that_the_fields_show_are_found(events: pl.DataFrame, steps: pl.DataFrame) -> None:
    own = Counter(
        (tool, outcome)
        for tool, label, outcome in outcomes_of_labels(events, steps)
        if label == "own_failure"
    )
    # the Bash call hid its exit code behind `|| echo`: no field tells of it
    assert own == {("TaskUpdate", "failure"): 2, ("Bash", "success"): 1}


def test_every_call_is_a_step_and_every_event_is_in_one(events: pl.DataFrame, steps: pl.DataFrame) -> None:
    assert events.height == 3131
    assert steps.filter(kind="tool_call").height == 2616
    assert sorted(steps["event_ids"].explode().to_list()) == sorted(events["event_id"].to_list())
    assert steps["trajectory_id"].n_unique() == steps["session_id"].n_unique() == 40


def test_outcomes_of_real_calls(steps: pl.DataFrame) -> None:
    calls = steps.filter(kind="tool_call")
    counts = dict(calls.group_by("outcome").len().rows())
    assert counts == {"success": 2535, "pending": 69, "interrupted": 10, "failure": 2}
    settled = calls.filter(
        (pl.col("tool_name") == "Bash") & pl.col("outcome_reason").str.contains("exitCode")
    )
    assert settled["outcome"].to_list() == ["success"] * 4


def test_timestamps_that_go_back_are_put_in_order(steps: pl.DataFrame) -> None:
    started = steps.with_columns(before=pl.col("started_at").shift().over("trajectory_id"))
    assert started.filter(pl.col("started_at") < pl.col("before")).is_empty()
