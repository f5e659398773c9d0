"""Free segments follow goals, not single calls."""

from typing import Any

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, prompt

STOP = hook("Stop")


def goals(*records: dict[str, Any]) -> list[tuple[str | None, int]]:
    segments = build_segments(build_trajectories(hooks(*records)))
    return list(segments.select("goal", "calls").iter_rows())


def test_a_goal_lasts_from_prompt_to_prompt() -> None:
    first = [prompt("one", "p1"), *bash("cat a.py"), *bash("cat b.py"), STOP]
    second = [prompt("two", "p2"), *bash("cat c.py"), *bash("ls"), STOP]
    assert goals(hook("SessionStart"), *first, *second) == [("one", 2), ("two", 2)]


def test_a_prompt_about_the_same_things_goes_on_with_the_goal() -> None:
    first = [prompt("one", "p1"), *bash("cat a.py"), STOP]
    assert goals(*first, prompt("and now?", "p2"), *bash("python a.py"), STOP) == [("one", 2)]


def test_a_wake_up_goes_on_with_the_goal() -> None:
    wait = call("ScheduleWakeup", {"prompt": "look"}, {"scheduledFor": 1}, "w1")
    first = [prompt("one", "p1"), *bash("cat a.py"), *wait, STOP]
    assert goals(*first, prompt("look", "p2"), *bash("cat z.py"), STOP) == [("one", 3)]


def test_turns_whose_prompts_were_not_captured_are_not_cut_into_single_calls() -> None:
    looks = [record for name in ("a.py", "b.py", "c.py") for record in (*bash(f"cat {name}"), STOP)]
    assert goals(*looks) == [(None, 3)]


def test_a_turn_of_several_calls_about_new_things_opens_a_goal_though_its_prompt_is_unknown() -> None:
    first = [*bash("cat a.py"), *bash("cat b.py"), STOP]
    assert goals(*first, *bash("cat c.py"), *bash("cat d.py"), STOP) == [(None, 2), (None, 2)]


def test_a_stop_that_a_hook_refused_does_not_end_the_turn() -> None:
    turn = [record | {"prompt_id": "p1"} for record in (*bash("cat c.py"), *bash("cat d.py"))]
    assert goals(prompt("one", "p1"), *bash("cat a.py", prompt_id="p1"), STOP, *turn, STOP) == [("one", 3)]


def test_a_session_without_a_call_is_one_segment() -> None:
    assert goals(hook("SessionStart"), STOP, hook("SessionEnd")) == [(None, 0)]
    assert goals() == []


def test_a_goal_is_cut_at_200_characters() -> None:
    assert goals(prompt("x" * 500, "p1")) == [("x" * 200, 0)]
