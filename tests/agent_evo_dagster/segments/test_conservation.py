"""Every event belongs to exactly one segment, whatever the events."""

from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.conservation import violations
from agent_evo_dagster.segments.turns import turns_of
from agent_evo_dagster.segments.view import in_order, read_views
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hook, hooks, prompt, skill


@st.composite
def stretch(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few records as a client sends them, of the main agent or of another."""
    number = draw(st.integers(0, 99))
    name = draw(st.sampled_from(["rllm-train", "rllm-config", "other"]))
    kinds = {
        "bash": bash(f"cat {name}.py", f"b{number}"),
        "skill": skill(name, f"s{number}"),
        "slash": [
            prompt(f"/{name}", f"p{number}"),
            hook("UserPromptExpansion", prompt_id=f"p{number}", command_name=name),
        ],
        "prompt": [prompt(draw(st.sampled_from(["go", "look", "<task-notification>"])), f"p{number}")],
        "wake": call("ScheduleWakeup", {"prompt": "look"}, {"scheduledFor": 1}, f"w{number}"),
        "task": call("TaskCreate", {}, {"task": {"id": "1"}}, f"t{number}"),
        "done": call("TaskUpdate", {"taskId": "1", "status": "completed"}, {"success": True}, f"u{number}"),
        "stop": [hook("Stop")],
        "end": [hook("SessionEnd")],
    }
    records = kinds[draw(st.sampled_from(sorted(kinds)))]
    agent = draw(st.sampled_from([None, None, "a"]))
    return [record | {"agent_id": agent} for record in records]


captured = st.lists(stretch(), max_size=20).map(lambda parts: hooks(*(r for part in parts for r in part)))
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(captured)
def test_segments_hold_every_event_once(events: pl.DataFrame) -> None:
    segments = build_segments(build_trajectories(events))
    assert violations(events, segments) == []
    known = set(segments["segment_id"])
    assert all(parent in known for parent in segments["parent_segment_id"].drop_nulls())
    assert segments.filter((pl.col("kind") == "skill") != pl.col("skill").is_not_null()).is_empty()


@quick
@given(captured, st.integers(0, 60))
def test_growth_keeps_the_ids_of_skill_segments(events: pl.DataFrame, count: int) -> None:
    part = build_segments(build_trajectories(events.head(count))).filter(kind="skill")
    whole = build_segments(build_trajectories(events))
    # a Skill call whose end has not come is no skill yet; those that are stay what they are
    assert set(part["segment_id"]) <= set(whole.filter(kind="skill")["segment_id"])


def homes(steps: pl.DataFrame) -> dict[str, tuple[str, str | None, str | None]]:
    """Segment, skill and parent of each step."""
    rows = build_segments(steps).select("segment_id", "skill", "parent_segment_id", "step_ids").iter_rows()
    return {step: (segment, skill, parent) for segment, skill, parent, held in rows for step in held}


@quick
@given(captured, st.integers(0, 60))
def test_growth_moves_nothing_before_the_newest_turn(events: pl.DataFrame, count: int) -> None:
    part = build_trajectories(events.head(count))
    known, grown = homes(part), homes(build_trajectories(events))
    for view in read_views(in_order(part)):
        settled = view.step_id[: turns_of(view)[-1].start]
        assert {step: known[step] for step in settled} == {step: grown.get(step) for step in settled}


def test_the_newest_turn_is_decided_by_all_that_it_names() -> None:
    records = [*skill("run"), *bash("cat a.py"), hook("Stop"), prompt("go on", "p1"), *bash("cat b.py")]
    skills = build_segments(build_trajectories(hooks(*records)))["skill"].to_list()
    assert skills == ["run", None]  # so far it is about other things
    skills = build_segments(build_trajectories(hooks(*records, *bash("cat a.py b.py"))))["skill"].to_list()
    assert skills == ["run"]


def test_what_breaks_the_law_is_told() -> None:
    events = hooks(*bash("ls"), *bash("pwd"))
    segments = build_segments(build_trajectories(events))
    lost, twice = violations(events, segments.clear()), violations(events, pl.concat([segments, segments]))
    assert lost == [f"4 events are in no segment: {', '.join(sorted(events['event_id']))}"]
    assert [line.partition(":")[0] for line in twice] == [
        "4 events are in more than one place",
        "1 segment ids are not unique",
    ]
    assert violations(events.head(3), segments)[0].startswith("1 events of segments are not among the events")
