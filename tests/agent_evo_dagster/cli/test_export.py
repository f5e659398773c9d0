"""Tests of `agent-evo export`: what a round stored becomes documents on disk."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.capture.atif import validate
from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.runs import sampled_format
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.config_sources import resolve_config, to_frame
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA
from agent_evo_dagster.trajectories.build import build_trajectories
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.capture.transcripts import call, gathered, prompt, result, said, transcript

TEMPLATE = Path(__file__).parents[3] / "skill_bank"


def configured(settings: Settings, key: str, **overrides: str) -> None:
    """The configuration of the round, and the checkpoint that its training left."""
    resolved = resolve_config(skill_settings=[], request="", overrides=overrides, seed=0)
    Warehouse(settings.warehouse).write(("training_config",), key, to_frame(resolved))
    checkpoint = settings.runs / key / "train/checkpoint"
    checkpoint.mkdir(parents=True)
    (checkpoint / "chat_template.jinja").write_bytes((EMBEDDED / "chat_template.jinja").read_bytes())


@pytest.mark.parametrize(("asked", "found"), [("auto", "hermes"), ("llama_json", "llama_json")])
def test_the_format_is_that_which_was_configured_or_the_policy_s_own(tmp_path: Path, asked, found) -> None:
    settings = Settings(home=tmp_path)
    configured(settings, "round-0001")
    assert sampled_format(settings.runs, "round-0001", asked) == found


def test_a_policy_s_own_format_that_cannot_be_known_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RoundError, match="agent-evo rounds run round-0001 --only training"):
        sampled_format(tmp_path, "round-0001", "auto")


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


def test_the_rollouts_of_a_round_are_exported_with_their_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    settings = Settings()
    key = open_round(settings, TEMPLATE, RoundRequest(allow_empty=True)).key
    call = '<tool_call>{"name": "calculate", "arguments": {"expression": "1+2"}}</tool_call>'
    answer = (
        "<|im_end|>\n<|im_start|>tool\n<tool_response>3</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    words = f"I add.{call}{answer}The answer is 3"
    told = {"step": 1, "group": 0, "task_id": "a-1", "prompt": "1+2?", "answer": "3", "finish": "stop"}
    rows = [{**told, "text": text, "reward": reward} for text, reward in ((words, 1.0), ("", None))]
    frame = pl.DataFrame([{name: row.get(name) for name in ROLLOUT_SCHEMA} for row in rows], ROLLOUT_SCHEMA)
    Warehouse(settings.warehouse).write(("rollout_trajectories",), key, frame)
    configured(settings, key)
    ran = CliRunner().invoke(app, ["export", key, "--rollouts", "--to", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    paths = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in paths] == [f"rollout-{key}-0.json", f"rollout-{key}-1.json"]
    first, second = (validate(json.loads(path.read_text())) for path in paths)
    assert [step.message for step in first.steps][:2] == ["1+2?", "I add."]
    (called,) = first.steps[2].tool_calls or ()
    assert (called.function_name, called.arguments) == ("calculate", {"expression": "1+2"})
    assert first.steps[2].observation is not None and first.steps[2].observation.results[0].content == "3"
    assert {step.timestamp for step in first.steps} == {None}
    assert first.extra is not None and second.extra is not None
    assert (first.extra["reward"], first.extra["finish"], second.extra["reward"]) == (1.0, "stop", None)
    assert CliRunner().invoke(app, ["import", str(tmp_path / "out")]).exit_code == 0
    queried = CliRunner().invoke(app, ["query", "SELECT task_id, reward FROM rollouts", "--csv"])
    assert queried.output.split() == ["task_id,reward", "a-1,1.0", "a-1,"]
