"""`agent-evo backtest`, as a person types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import AnalysisError, CaptureError

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data" / "agent_sessions"


def say(*words: str | Path) -> str:
    result = CliRunner().invoke(app, ["backtest", *map(str, words)], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_samples_are_tested_and_shown_with_intervals() -> None:
    output = say(ROOT / "samples", "--split", "0.5", "--bank", ROOT / "skill_bank")
    assert "sessions: 3 earlier, 3 later" in output
    assert "later failures that an earlier finding had named" in output
    assert "failure_signature" in output
    assert "Only 3 later sessions: this describes them, and is no measurement of findings." in output


def test_the_same_recordings_give_the_same_figures() -> None:
    first, again = (say(ROOT / "samples", "--json") for _ in range(2))
    assert first == again
    told = json.loads(first)
    assert told["sessions"] == [4, 2]
    assert set(told["coverage"]) == {"value", "low", "high", "hits", "of"}


def test_a_split_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(AnalysisError, match="on both sides"):
        say(ROOT / "samples", "--split", "0.01")


def test_what_holds_no_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError):
        say(tmp_path)


def test_the_real_sessions_hold_too_few_failures_to_measure_coverage() -> None:
    if not DATA.is_dir():
        pytest.skip(f"the recorded sessions are not here: {DATA}")
    told = json.loads(say(DATA, "--json"))
    assert told["sessions"] == [24, 16]
    assert told["failures"] == [2, 0]
    assert told["coverage"]["value"] is None
    assert told["precision"]["hits"] == 1
