"""Skill segments live across turns, nest, and end at a sibling, a change of subject or the session's end."""

from typing import Any

import polars as pl

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.conservation import violations
from agent_evo_dagster.segments.skill import SkillSegmenter
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, prompt, skill

STOP = hook("Stop")


def segmented(*records: dict[str, Any], **options: Any) -> pl.DataFrame:
    events = hooks(*records)
    segments = build_segments(build_trajectories(events), **options)
    assert violations(events, segments) == []
    return segments


def shape(segments: pl.DataFrame) -> list[tuple[str | None, int, str | None]]:
    """Skill, calls and parent's skill of each segment, in the order of their beginnings."""
    skills = dict(segments.select("segment_id", "skill").iter_rows())
    rows = segments.select("skill", "calls", "parent_segment_id").rows()
    return [(name, calls, skills.get(parent)) for name, calls, parent in rows]


def slash(name: str, prompt_id: str) -> list[dict[str, Any]]:
    fields = {"expansion_type": "slash_command", "command_name": name}
    expansion = hook("UserPromptExpansion", prompt=f"/{name}", prompt_id=prompt_id, **fields)
    return [prompt(f"/{name}", prompt_id), expansion]


def wake_up(text: str) -> list[dict[str, Any]]:
    return call("ScheduleWakeup", {"prompt": text, "delaySeconds": 60}, {"scheduledFor": 1}, f"w-{text}")


def test_a_skill_lasts_over_turns_and_wake_ups() -> None:
    records = [*skill("monitor"), *bash("tail a.log"), *wake_up("look"), STOP, *bash("cat b.log"), STOP]
    assert shape(segmented(*records)) == [("monitor", 4, None)]


def test_a_wake_up_prompt_is_no_change_of_subject() -> None:
    asked = [prompt("watch it", "p1"), *skill("monitor"), *bash("tail a.log"), *wake_up("look again"), STOP]
    woken = [prompt("look again", "p2"), *bash("cat other.json"), STOP]
    assert shape(segmented(*asked, *woken)) == [(None, 0, None), ("monitor", 4, None)]


def test_a_wake_up_that_did_not_say_what_it_will_send_is_no_change_of_subject() -> None:
    wait = call("ScheduleWakeup", {"delaySeconds": 60}, {"scheduledFor": 1}, "w1")
    asked = [prompt("watch it", "p1"), *skill("monitor"), *bash("tail a.log"), *wait, STOP]
    woken = [prompt("time is up", "p2"), *bash("cat other.json"), STOP]
    assert shape(segmented(*asked, *woken)) == [(None, 0, None), ("monitor", 4, None)]


def test_a_finished_job_is_no_change_of_subject() -> None:
    asked = [prompt("train", "p1"), *skill("run"), *bash("python a.py"), STOP]
    told = [prompt("<task-notification>\n<task-id>b1</task-id>", "p2"), *bash("cat other.json"), STOP]
    assert shape(segmented(*asked, *told)) == [(None, 0, None), ("run", 3, None)]


def test_a_prompt_that_goes_on_with_the_same_things_keeps_the_skill() -> None:
    asked = [prompt("train", "p1"), *skill("run"), *bash("python train.py"), STOP]
    more = [
        prompt("again, slower", "p2"),
        *bash("python train.py --slow"),
        STOP,
        prompt("and?", "p3"),
        *bash("ls"),
    ]
    assert shape(segmented(*asked, *more)) == [(None, 0, None), ("run", 4, None)]


def test_a_prompt_about_other_things_ends_the_skill() -> None:
    asked = [prompt("train", "p1"), *skill("run"), *bash("python train.py"), STOP]
    other = [
        prompt("fix the readme", "p2"),
        *call("Edit", {"file_path": "/p/README.md"}, {"filePath": "x"}, "e1"),
    ]
    segments = segmented(*asked, *other, STOP)
    assert shape(segments) == [(None, 0, None), ("run", 2, None), (None, 1, None)]
    assert segments["goal"].to_list() == ["train", "train", "fix the readme"]


def test_a_skill_ends_at_the_next_sibling() -> None:
    records = [
        *skill("clarify"),
        *bash("ls"),
        *skill("config"),
        *bash("pwd"),
        STOP,
        *skill("run"),
        *bash("id"),
    ]
    assert shape(segmented(*records)) == [("clarify", 2, None), ("config", 2, None), ("run", 2, None)]


def test_a_slash_command_is_a_skill_from_its_prompt_on() -> None:
    segments = segmented(hook("SessionStart"), *slash("demo", "p1"), *bash("ls"), STOP, hook("SessionEnd"))
    assert shape(segments) == [(None, 0, None), ("demo", 1, None)]
    assert segments["anchor"].to_list() == [None, "slash"]
    assert segments["goal"].to_list() == [None, "/demo"]


def test_a_slash_command_in_the_middle_of_a_prompt_or_unknown_is_no_skill() -> None:
    for text in ("please use /demo now", "/no-such-thing"):
        assert shape(segmented(prompt(text, "p1"), *bash("ls"), STOP)) == [(None, 1, None)]


def test_skills_that_a_slash_command_calls_are_its_children_and_it_resumes() -> None:
    first = [
        *slash("train", "p1"),
        *bash("ls"),
        *skill("config"),
        *bash("a"),
        *skill("run"),
        *bash("b"),
        STOP,
    ]
    then = [prompt("go on", "p2"), *bash("c"), STOP]
    expected = [("train", 2, None), ("config", 2, "train"), ("run", 2, "train")]
    assert shape(segmented(*first, *then)) == expected


def test_a_known_orchestrator_resumes_when_its_child_is_done() -> None:
    records = [*skill("boss"), *bash("a"), *skill("boss-part"), *bash("b"), STOP, *bash("c")]
    chain = [SkillSegmenter({"boss": ("boss-",)}), "free"]
    segments = segmented(*records, chain=chain)
    assert shape(segments) == [("boss", 3, None), ("boss-part", 2, "boss")]
    parent, child = segments["event_ids"].to_list()
    assert not set(parent) & set(child)


def test_the_first_skill_of_a_prompt_is_the_parent_of_those_that_follow_in_it() -> None:
    first = [prompt("do it", "p1"), *skill("outer"), *bash("a"), *skill("inner"), *bash("b"), STOP]
    later = [prompt("now that", "p2"), *skill("next"), *bash("c")]
    expected = [("outer", 2, None), ("inner", 2, "outer"), (None, 0, None), ("next", 2, None)]
    assert shape(segmented(*first, *later))[1:] == expected


def test_a_parent_resumes_when_a_task_of_its_own_is_completed() -> None:
    task = call("TaskCreate", {"subject": "x"}, {"task": {"id": "7", "subject": "x"}}, "t1")
    done = call("TaskUpdate", {"taskId": "7", "status": "completed"}, {"success": True}, "t2")
    records = [prompt("p", "p1"), *skill("outer"), *task, *skill("inner"), *bash("a"), *done, *bash("b")]
    assert shape(segmented(*records))[1:] == [("outer", 4, None), ("inner", 2, "outer")]


def test_a_parent_resumes_when_its_own_wake_up_comes() -> None:
    first = [prompt("p", "p1"), *skill("outer"), *wake_up("look"), *skill("inner"), *bash("a"), STOP]
    records = [*first, prompt("look", "p2"), *bash("b")]
    assert shape(segmented(*records))[1:] == [("outer", 3, None), ("inner", 2, "outer")]


def test_a_skill_that_ran_as_a_fork_has_ended_with_its_call() -> None:
    start, end = skill("forked")
    end["tool_response"] = {"success": True, "commandName": "forked", "status": "forked", "agentId": "x"}
    records = [*slash("outer", "p1"), *bash("a"), start, end, *bash("b")]
    assert shape(segmented(*records)) == [("outer", 2, None), ("forked", 1, "outer")]


def test_a_skill_called_again_is_a_new_segment() -> None:
    records = [*skill("config", "s1"), *bash("a"), *skill("config", "s2"), *bash("b")]
    assert shape(segmented(*records)) == [("config", 2, None), ("config", 2, None)]


def test_a_skill_call_that_failed_begins_nothing() -> None:
    error = "<tool_use_error>Unknown skill: x</tool_use_error>"
    named = {"tool_name": "Skill", "tool_input": {"skill": "x"}, "tool_use_id": "c1", "tool_response": error}
    start, end = skill("y")
    end["tool_response"] = {"success": False, "commandName": "y"}
    records = [prompt("p", "p1"), hook("PostToolBatch", tool_calls=[named]), start, end]
    assert shape(segmented(*records)) == [(None, 2, None)]


def test_a_subagents_skill_stays_in_its_own_trajectory() -> None:
    start, end = call("Agent", {"prompt": "x"}, {"status": "completed", "agentId": "a"}, "c1")
    inside = [hook("SubagentStart"), *skill("inner"), *bash("b"), hook("SubagentStop")]
    sub = [record | {"agent_id": "a"} for record in inside]
    segments = segmented(*skill("outer"), start, *sub, end, *bash("c"))
    assert shape(segments.filter(pl.col("agent_id").is_null())) == [("outer", 3, None)]
    assert shape(segments.filter(pl.col("agent_id") == "a")) == [(None, 0, None), ("inner", 2, None)]


def test_a_session_that_ended_and_went_on_has_no_skill_in_force() -> None:
    records = [
        *skill("run"),
        *bash("a"),
        hook("SessionEnd"),
        hook("SessionStart", source="resume"),
        *bash("b"),
    ]
    assert shape(segmented(*records)) == [("run", 2, None), (None, 1, None)]


def test_growth_changes_no_id_of_a_segment() -> None:
    records = [prompt("p", "p1"), *skill("run"), *bash("a.py"), STOP, prompt("x", "p2"), *bash("b.py"), STOP]
    whole = segmented(*records)["segment_id"].to_list()
    for count in range(len(records) + 1):
        part = segmented(*records[:count])["segment_id"].to_list()
        assert part == whole[: len(part)]
