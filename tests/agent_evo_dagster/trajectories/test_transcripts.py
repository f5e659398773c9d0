"""Trajectories of sessions that only the client's own transcripts tell of."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_evo_dagster.capture.companions import transcript_slices
from agent_evo_dagster.capture.gather import read_sources
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import shared_data


@pytest.mark.parametrize("name", ["main", "skills"])
def test_a_subagent_has_the_type_that_the_client_noted(tmp_path: Path, name: str) -> None:
    import_sessions(shared_data("claude_code", "transcripts", name), tmp_path)
    later = datetime.now(UTC) + timedelta(days=1)
    slices = transcript_slices(tmp_path, [], [], now=later, quiet=timedelta(), include_open=True)
    steps = build_trajectories(read_sources(tmp_path, slices, key=b"k" * 32).events)
    types = steps.select("agent_id", "agent_type").unique().sort("agent_id")["agent_type"]
    assert types.to_list() == [None, "demo-agent"]
