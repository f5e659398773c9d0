"""A round over recordings of the real client: what its sources agree on is stored, checked and reported."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.rounds.opening import RoundRequest
from tests.assets.graph import ROOT, failures, fake_graph

RECORDINGS = ROOT.parent / "shared" / "data" / "claude_code"


def test_coverage_of_a_round_is_stored_checked_and_reported(tmp_path: Path) -> None:
    if not RECORDINGS.is_dir():
        pytest.skip("../shared/data/claude_code is not here")
    with fake_graph(tmp_path / "home", sessions=False) as graph:
        import_sessions(RECORDINGS, graph.settings.spool)
        manifest = graph.open()
        result = graph.run(manifest.key)
        assert result.success, failures(result)
        coverage = graph.frame("capture_coverage", manifest.key)
        assert (coverage["calls_both"].sum(), coverage["transcript"].sum()) == (35, 6)
        assert graph.frame("token_usage", manifest.key)["output_tokens"].sum() == 42 * 42
        sources = graph.frame("hook_events", manifest.key).group_by("source").len()
        assert dict(sources.iter_rows()) == {"hook": 161, "transcript": 6}
        checks = {item.check_name: item.passed for item in result.get_asset_check_evaluations()}
        assert checks["calls_captured"]
        assert checks["usage_schema"]
        assert checks["conservation"]
        report = graph.frame("analysis_report", manifest.key)["markdown"][0]
        assert "Calls captured" in report
        assert "| with a transcript | 6 | 35 | 0 | 0 | 1 |" in report
        again = graph.run(manifest.key, select=["hook_events", "capture_coverage", "token_usage"])
        assert again.success, failures(again)
        assert graph.frame("capture_coverage", manifest.key).equals(coverage)
        calls = graph.frame("trajectories", manifest.key).filter(pl.col("kind") == "tool_call")
        assert calls.height == calls["tool_use_id"].n_unique() == 35


def test_transcripts_that_come_late_correct_the_coverage_in_the_next_round(tmp_path: Path) -> None:
    if not RECORDINGS.is_dir():
        pytest.skip("../shared/data/claude_code is not here")
    assets = ["hook_events", "quarantined_lines", "capture_coverage", "token_usage", "trajectories"]
    with fake_graph(tmp_path / "home", sessions=False) as graph:
        rounds = []
        for part in ("hooks", "transcripts"):
            import_sessions(RECORDINGS / part, graph.settings.spool)
            rounds.append(graph.open(RoundRequest(quiet=timedelta())).key)
            result = graph.run(rounds[-1], select=assets)
            assert result.success, failures(result)
        first, second = (graph.frame("capture_coverage", key) for key in rounds)
        assert (first["calls_hook_only"].sum(), first["corrects"].any()) == (35, False)
        assert (second["calls_both"].sum(), second["calls_hook_only"].sum()) == (35, 0)
        assert second["corrects"].all()
        events = pl.concat(graph.frame("hook_events", key) for key in rounds)
        assert dict(events.group_by("source").len().iter_rows()) == {"hook": 161, "transcript": 6}
        assert events["event_id"].n_unique() == events.height
        assert graph.frame("token_usage", rounds[1])["output_tokens"].sum() == 42 * 42
        assert graph.open().slices == ()
