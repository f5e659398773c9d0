"""Segmenters form a chain: shipped ones by name, a user's own by import path, each kept to what is left."""

from collections.abc import Sequence

import polars as pl
import pytest

from agent_evo_dagster.errors import SegmentError
from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.registry import SHIPPED, segmenters
from agent_evo_dagster.segments.strategy import Claim
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA, SegmentKind
from agent_evo_dagster.segments.view import TrajectoryView
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, hooks

HERE = "tests.agent_evo_dagster.segments.test_registry"


class Commits:
    """A user's segmenter: every call of git is a segment."""

    name = "commits"

    def claim(self, view: TrajectoryView, unclaimed: Sequence[int]) -> list[Claim]:
        found = [step for step in unclaimed if (view.command[step] or "").startswith("git ")]
        return [Claim(SegmentKind.FREE, (step,)) for step in found]


class Greedy:
    name = "greedy"

    def claim(self, view: TrajectoryView, unclaimed: Sequence[int]) -> list[Claim]:
        return [Claim(SegmentKind.FREE, (0,)), Claim(SegmentKind.FREE, (0,))]


class Nothing:
    name = "nothing"


def steps() -> pl.DataFrame:
    return build_trajectories(hooks(*bash("ls"), *bash("git commit"), *bash("pwd")))


def test_a_users_segmenter_takes_its_place_in_the_chain() -> None:
    segments = build_segments(steps(), chain=["skill", f"{HERE}:Commits", "free"])
    assert segments["segmenter"].to_list() == ["free", "commits", "free"]
    assert segments["tags"].to_list() == [["explore"], ["version_control"], []]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_ones_are_found_by_name(name: str) -> None:
    assert [made.name for made in segmenters([name])] == [name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", "no segmenter 'nope'. Shipped: skill, free"),
        ("no_such_module:X", "cannot be made"),
        (f"{HERE}:Missing", "cannot be made"),
        (f"{HERE}:Nothing", "needs a `name` and a method `claim"),
    ],
)
def test_one_that_cannot_be_loaded_is_named(name: str, message: str) -> None:
    with pytest.raises(SegmentError, match=message):
        build_segments(steps(), chain=[name])


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(SegmentError, match="empty"):
        segmenters([])


def test_a_chain_that_leaves_steps_is_refused() -> None:
    with pytest.raises(SegmentError, match=r"left 3 steps .* End the chain with 'free'"):
        build_segments(steps(), chain=["skill"])


def test_a_segmenter_that_claims_twice_is_named() -> None:
    with pytest.raises(SegmentError, match="'greedy' claimed the position 0"):
        build_segments(steps(), chain=[Greedy(), "free"])


def test_a_frame_without_the_columns_of_steps_is_refused_by_name() -> None:
    with pytest.raises(SegmentError, match="lacks outcome"):
        build_segments(steps().drop("outcome"))


def test_segments_have_the_documented_schema_even_where_there_are_none() -> None:
    assert build_segments(steps()).schema == SEGMENT_SCHEMA
    assert build_segments(steps().clear()).schema == SEGMENT_SCHEMA
