"""Sessions, agents and the calls that started them are told apart."""

import polars as pl

from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, skill


def agent(name: str, *records: dict[str, object]) -> list[dict[str, object]]:
    return [record | {"agent_id": name, "agent_type": "helper"} for record in records]


def started(name: str, call_id: str) -> tuple[dict[str, object], dict[str, object]]:
    response = {"status": "completed", "agentId": name}
    start, end = call("Agent", {"prompt": name, "subagent_type": "helper"}, response, call_id)
    return start, end


def parents(steps: pl.DataFrame) -> dict[str | None, str | None]:
    return dict(steps.select("agent_id", "parent_agent_id").unique().rows())


def test_sessions_are_never_merged_though_their_events_are_mixed() -> None:
    records = [record | {"session_id": session} for session in ("a", "b") for record in bash("ls", "same-id")]
    steps = build_trajectories(hooks(records[0], records[2], records[1], records[3]))
    assert steps["session_id"].to_list() == ["a", "b"]
    assert steps["trajectory_id"].n_unique() == 2
    assert steps["event_ids"].list.len().to_list() == [2, 2]


def test_three_subagents_that_end_out_of_order_are_told_apart_by_their_ids() -> None:
    names = ("x", "y", "z")
    calls = {name: started(name, f"c-{name}") for name in names}
    events = hooks(
        *(calls[name][0] for name in names),
        *(agent(name, hook("SubagentStart"))[0] for name in names),
        *(record for name in names for record in agent(name, *bash("ls", f"b-{name}"))),
        *(agent(name, hook("SubagentStop"))[0] for name in ("z", "x", "y")),
        *(calls[name][1] for name in ("y", "z", "x")),
    )
    steps = build_trajectories(events)
    marks = steps.filter(pl.col("agent_id").is_not_null()).group_by("agent_id").agg("mark").sort("agent_id")
    assert marks["mark"].to_list() == [["SubagentStart", "PreToolUse", "SubagentStop"]] * 3
    assert steps.filter(pl.col("agent_id").is_null())["tool_name"].to_list() == ["Agent"] * 3
    first = steps.filter((pl.col("agent_id") == "y") & (pl.col("index") == 0))
    call_of_y = steps.filter(pl.col("tool_use_id") == "c-y")
    assert first["evidence_ids"].to_list() == call_of_y["event_ids"].to_list()


def test_a_subagent_of_a_subagent_names_its_parent() -> None:
    outer, inner = started("x", "c1"), started("y", "c2")
    events = hooks(
        outer[0],
        *agent("x", hook("SubagentStart"), inner[0]),
        *agent("y", hook("SubagentStart"), *bash("ls"), hook("SubagentStop")),
        *agent("x", inner[1], hook("SubagentStop")),
        outer[1],
    )
    assert parents(build_trajectories(events)) == {None: None, "x": None, "y": "x"}


def test_a_subagent_whose_call_never_came_back_belongs_to_the_call_open_at_its_start() -> None:
    start, _ = started("x", "c1")
    steps = build_trajectories(hooks(start, *agent("x", hook("SubagentStart"), *bash("ls"))))
    first = steps.filter(pl.col("agent_id") == "x")
    assert (
        first["evidence_ids"][0].to_list()
        == steps.filter(pl.col("tool_use_id") == "c1")["event_ids"][0].to_list()
    )


def test_the_clients_own_forks_are_marks_of_the_main_agent() -> None:
    forks = [agent(name, hook("SubagentStop"))[0] for name in ("f1", "f2")]
    steps = build_trajectories(hooks(*bash("ls"), hook("Stop"), *forks))
    assert steps["agent_id"].to_list() == [None] * 4
    assert steps["mark"].to_list() == ["PreToolUse", "Stop", "SubagentStop", "SubagentStop"]


def test_an_agent_that_a_call_names_is_no_fork_though_only_its_stop_was_captured() -> None:
    steps = build_trajectories(hooks(*started("x", "c1"), *agent("x", hook("SubagentStop"))))
    assert steps["agent_id"].to_list() == [None, "x"]


def test_an_agent_whose_start_was_lost_is_not_mixed_into_the_main_one() -> None:
    steps = build_trajectories(hooks(*agent("x", *bash("ls"), hook("SubagentStop"))))
    assert steps["agent_id"].to_list() == ["x", "x"]


def test_a_forked_skill_is_the_caller_of_its_agent() -> None:
    start, end = skill("forked")
    end["tool_response"] = {"success": True, "commandName": "forked", "status": "forked", "agentId": "x"}
    events = hooks(start, *agent("x", hook("SubagentStart"), *bash("ls"), hook("SubagentStop")), end)
    steps = build_trajectories(events)
    assert steps.filter(pl.col("agent_id") == "x")["evidence_ids"][0].len() == 2
