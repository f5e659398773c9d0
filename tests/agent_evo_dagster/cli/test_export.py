"""Tests of `agent-evo export`: what a round stored becomes documents on disk."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.capture.atif import validate
from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.capture.transcripts import call, gathered, prompt, result, said, transcript

TEMPLATE = Path(__file__).parents[3] / "skill_bank"


def test_a_round_is_exported_as_valid_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    settings = Settings()
    key = open_round(settings, TEMPLATE, RoundRequest(allow_empty=True)).key
    told = [prompt("go", version="2.1.9"), said(call("c1", command="ls")), result("c1")]
    found = gathered(settings.spool, [transcript(settings.spool, *told)])
    assert found.usage.schema == USAGE_SCHEMA
    store = Warehouse(settings.warehouse)
    store.write(("hook_events",), key, found.events)
    store.write(("trajectories",), key, build_trajectories(found.events))
    store.write(("token_usage",), key, found.usage)
    ran = CliRunner().invoke(app, ["export", key, "--format", "atif", "--to", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    (path,) = (tmp_path / "out").iterdir()
    document = validate(json.loads(path.read_text()))
    assert (path.name, document.agent.version) == ("s-1.json", "2.1.9")
    assert [step.source for step in document.steps] == ["user", "agent"]
