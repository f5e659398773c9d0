"""What holds of any events: none lost, none twice, no negative time, and no order of reading matters."""

from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import hook, hooks

KINDS = [
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied",
    "UserPromptSubmit", "UserPromptExpansion", "MessageDisplay", "SubagentStart", "SubagentStop",
    "Stop", "SessionEnd", "Strange",
]  # fmt: skip
IDS = st.sampled_from([None, "c1", "c2"])
TOOLS = st.sampled_from(["Bash", "Agent", "TaskOutput", "Skill"])
RESPONSES = st.sampled_from(
    [
        None,
        "text",
        {"interrupted": False},
        {"backgroundTaskId": "b1"},
        {"status": "async_launched", "agentId": "a"},
    ]
)
NAMED = st.fixed_dictionaries(
    {"tool_name": TOOLS, "tool_use_id": IDS, "tool_input": st.just({}), "tool_response": RESPONSES}
)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    shared = {
        "session_id": draw(st.sampled_from(["s1", "s2"])),
        "agent_id": draw(st.sampled_from([None, "a", "b"])),
        "prompt_id": draw(st.sampled_from([None, "p1", "p2"])),
        "at": draw(st.integers(0, 20)) / 4,
        "tool_use_id": draw(IDS),
    }
    if draw(st.integers(0, 5)) == 0:
        return hook("PostToolBatch", tool_calls=draw(st.lists(NAMED, max_size=3)), **shared)
    call = {"tool_name": draw(TOOLS), "tool_input": {"task_id": "b1"}, "tool_response": draw(RESPONSES)}
    return hook(draw(st.sampled_from(KINDS)), **shared, **call)


events = st.lists(records(), max_size=25).map(lambda made: hooks(*made))
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(events)
def test_every_event_belongs_to_exactly_one_step(captured: pl.DataFrame) -> None:
    steps = build_trajectories(captured)
    held = steps["event_ids"].explode().drop_nulls().to_list()
    assert sorted(held) == sorted(set(captured["event_id"].to_list()))
    assert steps["step_id"].n_unique() == steps.height
    assert steps.filter(pl.col("duration_ms") < 0).is_empty()
    assert steps.filter(pl.col("ended_at") < pl.col("started_at")).is_empty()
    assert steps.filter((pl.col("kind") == "tool_call") != pl.col("outcome").is_not_null()).is_empty()


@quick
@given(events, st.randoms(use_true_random=False))
def test_the_order_of_reading_changes_nothing(captured: pl.DataFrame, random: Any) -> None:
    order = list(range(captured.height))
    random.shuffle(order)
    assert build_trajectories(captured[order]).equals(build_trajectories(captured))


@quick
@given(events)
def test_sessions_do_not_touch_each_other(captured: pl.DataFrame) -> None:
    together = build_trajectories(captured)
    for session in captured["session_id"].unique():
        alone = build_trajectories(captured.filter(session_id=session))
        assert together.filter(session_id=session).equals(alone)
