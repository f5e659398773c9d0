from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.analysis.report import render_report
from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.slices import available_slices
from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.analysis.pages import Outline

DATA = Path(__file__).parents[4] / "shared" / "data"


def read(folder, spool):
    source = DATA / folder
    if not source.is_dir():
        pytest.skip(f"the recorded sessions are not here: {source}")
    import_sessions(source, spool)
    slices = available_slices(spool, [], now=datetime.now(UTC), quiet=timedelta(0), include_open=True)
    steps = build_trajectories(read_slices(spool, slices, key=b"k" * 32).events)
    return steps, build_segments(steps)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return read("agent_sessions", tmp_path_factory.mktemp("spool"))


def test_the_report_on_real_sessions_stays_small_and_leads_to_their_steps(real, inputs):
    steps, segments = real
    found = find_in_sessions(steps, segments)
    report = render_report(replace(inputs, steps=steps, segments=segments, session_findings=found))
    outline = Outline(report.html)
    assert len(report.html.encode()) < 500_000
    assert len(report.markdown.encode()) < 50_000
    assert outline.values("class").count("step evidence") > 10
    assert {value[1:] for value in outline.values("href")} <= {"", *outline.values("id")}


def test_sessions_without_captured_failures_have_no_failure_findings(real):
    steps, segments = real
    failures = int((steps["outcome"] == "failure").sum())
    found = find_in_sessions(steps, segments)
    told = found.filter(pl.col("kind").is_in(["repeated_failure", "failure_recovery", "missing_file"]))
    assert int(told["count"].sum()) <= failures < 20
    assert "repeated_call" in found["kind"].to_list()


def test_a_recorded_read_of_a_missing_file_is_found(tmp_path):
    found = find_in_sessions(*read("claude_code/hooks", tmp_path))
    (finding,) = found.filter(pl.col("kind") == "missing_file").to_dicts()
    assert "does-not-exist.txt" in finding["summary"]
