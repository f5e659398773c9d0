"""The recordings of the real client give the segments that a reader of them expects.

`expected_recordings.txt` was written from the recordings: agent, kind, skill, what began it, the skill of the
parent segment, steps/events, calls/failures. `main` calls an unknown skill, which begins nothing, and a
subagent, whose skill is its own; in `skills` a forked skill ends at once, and the one after it calls another;
`slash` begins with an expanded command, `slashmid` and `slashunknown` only look like one.
"""

from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.segments.conservation import violations
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import recording
from tests.agent_evo_dagster.trajectories.test_recordings import NAMES, read_expected

EXPECTED = Path(__file__).with_name("expected_recordings.txt")


def summary(segments: pl.DataFrame) -> list[str]:
    """One line a segment; agents are numbered in the order in which they come."""
    agents: dict[str | None, str] = {None: "main"}
    skills = dict(segments.select("segment_id", "skill").iter_rows())
    lines = []
    for one in segments.iter_rows(named=True):
        parent = skills[one["parent_segment_id"]] if one["parent_segment_id"] else None
        words = [one["kind"], one["skill"] or "-", one["anchor"] or "-", parent or "-"]
        size = f"{len(one['step_ids'])}/{len(one['event_ids'])} {one['calls']}/{one['failures']}"
        lines.append(" ".join([agents.setdefault(one["agent_id"], f"sub{len(agents)}"), *words, size]))
    return lines


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_gives_the_expected_segments(name: str) -> None:
    events = recording(name)
    segments = build_segments(build_trajectories(events))
    assert summary(segments) == read_expected(EXPECTED)[name]
    assert violations(events, segments) == []


@pytest.mark.parametrize("name", NAMES)
def test_half_of_a_recording_has_the_ids_of_the_whole(name: str) -> None:
    events = recording(name)
    half = events.head(events.height // 2)
    before = build_segments(build_trajectories(half))["segment_id"].to_list()
    after = build_segments(build_trajectories(events))["segment_id"].to_list()
    assert set(before) <= set(after)
