"""Calls that outlive their own events: jobs, subagents, and calls that never came back."""

from typing import Any

import polars as pl
import pytest

from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, prompt


def in_background(job: str = "b1") -> list[dict[str, Any]]:
    response = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": job}
    return call("Bash", {"command": "train"}, response, f"start-{job}")


def report(job: str, call_id: str, **task: Any) -> list[dict[str, Any]]:
    response = {"retrieval_status": "success", "task": {"task_id": job, **task}}
    return call("TaskOutput", {"task_id": job}, response, call_id)


def first(steps: pl.DataFrame) -> tuple[str, str]:
    outcome, reason = steps.select("outcome", "outcome_reason").row(0)
    return outcome, reason


def test_a_job_in_the_background_is_pending_until_its_result_comes() -> None:
    assert first(build_trajectories(hooks(*in_background()))) == ("pending", "backgroundTaskId=b1")
    running = report("b1", "r1", status="running", exitCode=None)
    assert first(build_trajectories(hooks(*in_background(), *running)))[0] == "pending"


@pytest.mark.parametrize(
    ("task", "outcome", "reason"),
    [
        ({"status": "completed", "exitCode": 0}, "success", "TaskOutput.task.exitCode=0"),
        ({"status": "completed", "exitCode": 1}, "failure", "TaskOutput.task.exitCode=1"),
        ({"status": "failed", "exitCode": None}, "failure", "TaskOutput.task.status=failed"),
        ({"status": "killed"}, "interrupted", "TaskOutput.task.status=killed"),
    ],
)
def test_the_first_result_settles_it_and_is_its_evidence(
    task: dict[str, Any], outcome: str, reason: str
) -> None:
    running = report("b1", "r1", status="running", exitCode=None)
    events = hooks(
        *in_background(), *running, *report("b1", "r2", **task), *report("b1", "r3", status="failed")
    )
    steps = build_trajectories(events)
    assert first(steps) == (outcome, reason)
    assert steps["evidence_ids"][0].to_list() == [events["event_id"][5]]


def test_a_result_settles_only_the_job_with_its_id() -> None:
    done = report("b2", "r1", status="completed", exitCode=0)
    steps = build_trajectories(hooks(*in_background("b1"), *in_background("b2"), *done))
    assert steps["outcome"].to_list() == ["pending", "success", "success"]


def test_a_job_that_was_stopped_is_interrupted() -> None:
    stop = call("TaskStop", {"task_id": "b1"}, {"task_id": "b1", "message": "stopped"}, "s1")
    assert first(build_trajectories(hooks(*in_background(), *stop))) == ("interrupted", "TaskStop.task_id=b1")


def test_older_tools_settle_a_job_too() -> None:
    told = call("BashOutput", {"bash_id": "b1"}, {"status": "completed", "exitCode": 0}, "o1")
    assert first(build_trajectories(hooks(*in_background(), *told))) == ("success", "BashOutput.exitCode=0")


def test_a_subagent_in_the_background_is_done_when_it_stops() -> None:
    start = call("Agent", {"prompt": "x"}, {"status": "async_launched", "agentId": "x"}, "c1")
    sub = [hook(kind, agent_id="x") for kind in ("SubagentStart", "SubagentStop")]
    assert first(build_trajectories(hooks(*start, sub[0]))) == ("pending", "status=async_launched")
    assert first(build_trajectories(hooks(*start, *sub))) == ("success", "kind=SubagentStop")


@pytest.mark.parametrize("closer", ["SessionEnd", "Stop", "StopFailure", "UserPromptSubmit"])
def test_a_call_without_an_end_was_interrupted_where_its_turn_is_over(closer: str) -> None:
    steps = build_trajectories(hooks(bash("sleep")[0], hook(closer, prompt_id="p9")))
    assert first(steps) == ("interrupted", f"kind={closer}")
    assert steps["ended_at"][0] is None


def test_a_call_without_an_end_is_pending_while_its_session_is_open() -> None:
    events = hooks(prompt("go", "p1"), bash("sleep")[0])
    steps = build_trajectories(events)
    assert steps["outcome"].to_list() == [None, "pending"]
    assert build_trajectories(events, over=["s1"])["outcome_reason"].to_list() == [None, "session=over"]


def test_a_subagents_call_outlives_the_turn_of_the_main_agent() -> None:
    sub = [hook("SubagentStart", agent_id="x"), bash("sleep")[0] | {"agent_id": "x"}]
    steps = build_trajectories(hooks(*sub, hook("Stop")))
    assert steps.filter(pl.col("agent_id") == "x")["outcome"].to_list() == [None, "pending"]


def test_an_interrupt_is_told_by_its_field() -> None:
    start, _ = bash("sleep")
    for flag, outcome in ((True, "interrupted"), (False, "failure")):
        end = start | hook("PostToolUseFailure", error="Exit code 137", is_interrupt=flag)
        assert first(build_trajectories(hooks(start, end)))[0] == outcome


def test_a_denied_call_is_denied() -> None:
    start, _ = bash("rm x", "c1")
    denied = start | hook("PermissionDenied", reason="rule")
    assert first(build_trajectories(hooks(start, denied))) == ("denied", "kind=PermissionDenied")
    named = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c1", "tool_response": "needs approval"}
    steps = build_trajectories(hooks(start, hook("PostToolBatch", tool_calls=[named])))
    assert first(steps) == ("denied", "kind=PostToolBatch")
