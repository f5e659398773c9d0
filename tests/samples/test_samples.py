"""The sample sessions: made by their script, read without a loss, rich enough for every part of a round."""

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.capture.claude_settings import KINDS
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import ReadResult, read_slices
from agent_evo_dagster.capture.slices import available_slices

SAMPLES = Path(__file__).parents[2] / "samples"
ALSO_RECORDED = {"InstructionsLoaded", "MessageDisplay", "ConfigChange", "PreSkillShellCommand"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ReadResult:
    spool = tmp_path_factory.mktemp("spool")
    import_sessions(SAMPLES, spool)
    slices = available_slices(
        spool, [], now=datetime.now(UTC), quiet=timedelta(minutes=30), include_open=False
    )
    return read_slices(spool, slices, key=b"k" * 32)


def test_the_script_writes_the_committed_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLES / "make_samples.py", tmp_path], check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in SAMPLES.glob("*.jsonl")}


def test_they_are_few_and_small() -> None:
    sizes = [path.stat().st_size for path in SAMPLES.glob("*.jsonl")]
    assert len(sizes) == 6 and sum(sizes) < 200_000


def test_all_of_them_are_available_at_once_and_read_without_a_loss(result: ReadResult) -> None:
    lines = sum(len(path.read_bytes().splitlines()) for path in SAMPLES.glob("*.jsonl"))
    assert (result.lines, result.events.height, result.quarantine.height) == (lines, lines, 0)
    assert result.events["session_id"].n_unique() == 6
    assert result.events["event_id"].n_unique() == lines
    assert set(result.events["layer"]) == {"rllm"}


def test_every_kind_of_event_is_in_them(result: ReadResult) -> None:
    assert set(result.events["kind"]) == {*KINDS, *ALSO_RECORDED}


def test_they_hold_no_secret(result: ReadResult) -> None:
    assert "<redacted:" not in str(result.events.rows())


def test_times_only_grow_and_one_session_never_ends(result: ReadResult) -> None:
    for _, events in result.events.group_by("session_id"):
        assert events["at"].is_sorted()
    ended = result.events.filter(pl.col("kind") == "SessionEnd")["session_id"].n_unique()
    assert ended == 5


def test_they_show_what_a_round_looks_for(result: ReadResult) -> None:
    events = result.events
    failures = events.filter(pl.col("kind") == "PostToolUseFailure")
    assert max(Counter(zip(failures["session_id"], failures["tool_input"], strict=True)).values()) == 3
    assert failures.filter(pl.col("error").str.starts_with("File does not exist")).height == 2
    assert failures["extra"].str.contains('"is_interrupt":true').sum() == 1
    batches = events.filter(pl.col("kind") == "PostToolBatch")["extra"].to_list()
    texts = [call["tool_response"] for extra in batches for call in json.loads(extra)["tool_calls"]]
    assert sum(str(text).startswith("<tool_use_error>") for text in texts) == 3
    responses = " ".join(events["tool_response"].drop_nulls())
    for field in ("backgroundTaskId", "timedOutAfterMs", "returnCodeInterpretation", "agentId"):
        assert field in responses
    assert events["agent_id"].drop_nulls().n_unique() == 5  # four subagents and a fork of the client's own
    begun = set(events.filter(pl.col("kind") == "PreToolUse")["tool_use_id"])
    told = set(events.filter(pl.col("kind").is_in(["PostToolUse", "PostToolUseFailure"]))["tool_use_id"])
    assert len(begun - told) == 3  # one denied by the person, one by rule, one without an end
