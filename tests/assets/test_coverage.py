"""A round over recordings of the real client: what its sources agree on is stored, checked and reported."""

from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.capture.importer import import_sessions
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
