"""The real sessions: conservation, skills that last, goals that are no single calls."""

import polars as pl
import pytest

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.conservation import violations
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import legacy_sessions


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    return legacy_sessions()


@pytest.fixture(scope="module")
def segments(events: pl.DataFrame) -> pl.DataFrame:
    return build_segments(build_trajectories(events))


def test_every_event_of_the_real_sessions_is_in_one_segment(
    events: pl.DataFrame, segments: pl.DataFrame
) -> None:
    assert violations(events, segments) == []


def test_every_skill_call_is_a_segment(segments: pl.DataFrame) -> None:
    assert segments.filter(kind="skill").height == 100
    assert segments["calls"].sum() == 2616


def test_at_most_a_fifth_of_the_free_segments_is_a_single_call(segments: pl.DataFrame) -> None:
    free = segments.filter(kind="free")
    assert free.filter(calls=1).height <= 0.2 * free.height


def test_monitoring_lasts_over_its_wake_ups(segments: pl.DataFrame) -> None:
    session = pl.col("session_id").str.starts_with("ae18fdb6")
    monitors = segments.filter(session & (pl.col("skill") == "rllm-monitor"))
    assert monitors["calls"].max() > 100


def test_the_children_of_an_orchestrating_skill_name_it(segments: pl.DataFrame) -> None:
    session = pl.col("session_id").str.starts_with("de0bd17e")
    found = segments.filter(session)
    parent = found.filter(skill="rllm-train")["segment_id"].item()
    children = found.filter(pl.col("skill").is_not_null() & (pl.col("skill") != "rllm-train"))
    assert children["parent_segment_id"].unique().to_list() == [parent]
    assert found.filter(skill="rllm-train")["calls"].item() > 50  # what came after its children is its own
