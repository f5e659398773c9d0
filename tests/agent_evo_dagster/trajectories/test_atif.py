"""Tests of the export to ATIF: recordings of the real client become valid documents, nothing left out."""

from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.cli.export import documents_of_round
from agent_evo_dagster.trajectories.atif import to_atif
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.capture.transcripts import gathered, recorded

MAIN, AGENT = "68347ea1-aa01-447a-91db-7c265dda2fb2", "ac1c0e3de7f5fee9f"


@pytest.fixture
def recordings() -> Path:
    """The recordings, or a skipped test."""
    folder = Path(__file__).parents[4] / "shared" / "data" / "claude_code"
    if not folder.is_dir():
        pytest.skip("../shared/data/claude_code is not here")
    return folder


def test_recordings_become_valid_documents_that_hold_every_step(recordings: Path, tmp_path: Path) -> None:
    found = gathered(tmp_path, recorded(recordings, tmp_path))
    steps = build_trajectories(found.events)
    documents = {one.session_id: one for one in to_atif(steps, found.usage, agent="claude-code", version="2")}
    assert set(documents) == set(steps["session_id"])
    held = [one for root in documents.values() for one in (root, *(root.subagent_trajectories or ()))]
    ids = [step.extra["step_id"] for one in held for step in one.steps if step.extra]
    assert sorted(map(str, ids)) == sorted(steps["step_id"])
    main = documents[MAIN]
    assert [child.trajectory_id for child in main.subagent_trajectories or ()] == [AGENT]
    results = [result for step in main.steps if step.observation for result in step.observation.results]
    refs = [ref.trajectory_id for result in results for ref in result.subagent_trajectory_ref or ()]
    assert refs == [AGENT]


def test_tokens_include_the_cached_ones(recordings: Path, tmp_path: Path) -> None:
    found = gathered(tmp_path, recorded(recordings, tmp_path, hooks=False))
    documents = documents_of_round(found.events, build_trajectories(found.events), found.usage)
    totals = documents[MAIN]["final_metrics"]
    own = found.usage.filter((pl.col("session_id") == MAIN) & pl.col("agent_id").is_null())
    assert totals == {
        "total_steps": 23,  # 16 calls, 2 prompts, 4 messages, 1 compaction
        "total_prompt_tokens": 1110 * own.height,
        "total_completion_tokens": 42 * own.height,
        "total_cached_tokens": 1000 * own.height,
    }


def test_a_session_without_steps_of_the_main_agent_has_a_root(recordings: Path, tmp_path: Path) -> None:
    found = gathered(tmp_path, recorded(recordings, tmp_path))
    steps = build_trajectories(found.events).filter(agent_id=AGENT)
    (document,) = to_atif(steps, found.usage, agent="claude-code", version="2")
    assert (document.session_id, len(document.subagent_trajectories or ())) == (MAIN, 1)
