"""`agent-evo diagnose` and `agent-evo rounds compare`, as a person types them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.comparing import compared
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import AnalysisError, RoundError
from agent_evo_dagster.rounds.failures import StepFailure, record_failure
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.types import METRIC_SCHEMA
from agent_evo_dagster.warehouse import Warehouse


def say(*words: str | Path) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def log(folder: Path, rewards: list[float], name: str = "metrics.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    steps = [{"step": step, "metrics": {"reward": value}} for step, value in enumerate(rewards, 1)]
    (folder / name).write_text("".join(json.dumps(step) + "\n" for step in steps))
    return folder


def test_a_flat_run_is_diagnosed_with_the_setting_to_move(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"learning_rate": 1e-06, "nested": {}}')
    output = say("diagnose", log(tmp_path, [0.2] * 8), "--settings", tmp_path / "config.json")
    assert "no_learning" in output and "learning rate 1e-6" in output
    assert "raise learning_rate by a factor of 5" in output


def test_settings_in_yaml_may_write_numbers_as_json_does(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("learning_rate: 1e-6\nname: x\n")
    assert "learning rate 1e-6" in say("diagnose", log(tmp_path, [0.2] * 8), "--settings", config)


@pytest.mark.parametrize("told", [{"learning_rate": 2e-5}, {"job": "x", "config": {"learning_rate": 2e-5}}])
def test_settings_are_read_flat_or_as_the_request_of_a_run_has_them(tmp_path: Path, told: object) -> None:
    (tmp_path / "REQUEST.json").write_text(json.dumps(told))
    output = say("diagnose", log(tmp_path, [0.2] * 10), "--settings", tmp_path / "REQUEST.json")
    assert "learning rate 2e-5" in output
    assert "raise learning_rate by a factor of 5; look at" in output


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"version": 1, "stuff": {}}, "none of its names is a setting.*found: version, stuff"),
        ({"config": {"lr": 1e-3}}, "none of its names is a setting.*found: lr"),
        ({}, "found: nothing"),
        ({"learning_rate": "fast"}, "learning_rate = 'fast'; give a number"),
        ({"config": {"learning_rate": [1e-4]}}, r"learning_rate = '\[0\.0001\]'; give a number"),
    ],
)
def test_a_file_that_is_of_something_else_is_refused(tmp_path: Path, told: object, said: str) -> None:
    (tmp_path / "wrong.json").write_text(json.dumps(told))
    with pytest.raises(AnalysisError, match=said):
        say("diagnose", log(tmp_path, [0.2] * 10), "--settings", tmp_path / "wrong.json")


def test_what_could_not_be_looked_for_is_named_with_the_column_that_was_missing(tmp_path: Path) -> None:
    output = say("diagnose", log(tmp_path, [0.2] * 10))
    assert "kl_divergence: kl not logged (kl, actor/kl_loss, actor/ppo_kl)\n" in output
    assert (
        "length_bias: length not logged (completions/mean_length, response_length/mean); no rollouts"
        in output
    )
    assert "collapse" not in output.split("could not be looked for:")[1].replace("mode_collapse", "")
    (told,) = json.loads(say("diagnose", tmp_path, "--json"))["runs"]
    assert "kl_divergence" in told["not_looked_for"] and "no_learning" not in told["not_looked_for"]


@pytest.mark.parametrize("text", ["[1]", "{", "a: b: c"])
def test_settings_that_are_no_mapping_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(AnalysisError, match="file of settings"):
        say("diagnose", log(tmp_path, [0.2]), "--settings", tmp_path / "config.json")


def test_a_run_that_was_killed_is_told_by_its_exit_code(tmp_path: Path) -> None:
    told = json.loads(say("diagnose", log(tmp_path, [0.2, 0.3]), "--exit-code", "137", "--json"))
    assert [found["kind"] for found in told["runs"][0]["findings"]] == ["out_of_memory", "too_few_steps"]


def test_several_runs_are_compared_under_short_names(tmp_path: Path) -> None:
    paths = [log(tmp_path / name, rewards) for name, rewards in (("a", [0.1] * 6), ("b", [0.1, 0.2] * 3))]
    output = say("diagnose", *paths)
    assert "Metric" in output and "│ a " in output.replace("┃", "│")
    told = json.loads(say("diagnose", *paths, "--json"))
    assert [row["run"] for row in told["comparison"]] == ["a", "b"]


def test_markup_in_a_log_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    log(tmp_path, [0.2, 0.3])
    (tmp_path / "run.log").write_text("[red]\x1b[2JOutOfMemoryError[/red]\n")
    output = say("diagnose", tmp_path)
    assert "[red] [2JOutOfMemoryError[/red]" in output
    assert "\x1b" not in output


def stored(home: Path, key: str, rewards: list[float], rate: str) -> None:
    store = Warehouse(home / "warehouse")
    rows = [(step, "reward", value, True) for step, value in enumerate(rewards, 1)]
    store.write(["training_metrics"], key, pl.DataFrame(rows, schema=METRIC_SCHEMA, orient="row"))
    store.write(["training_config"], key, pl.DataFrame({"name": ["learning_rate"], "value": [rate]}))
    store.write(["training_findings"], key, pl.DataFrame({"kind": ["no_learning"]}))
    for asset in ("rollout_trajectories", "policy_evaluation"):
        store.write([asset], key, pl.DataFrame())


def test_rounds_are_compared_by_number_with_the_settings_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = ["round-0009", "round-0010", "round-0011"]
    monkeypatch.setattr("agent_evo_dagster.rounds.store.RoundStore.keys", lambda self: opened)
    stored(tmp_path, "round-0010", [0.1, 0.2, 0.3], "1e-4")
    stored(tmp_path, "round-0009", [0.1, 0.1, 0.1], "2e-5")
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path))
    told = json.loads(say("rounds", "compare", "--json"))
    assert [row["run"] for row in told["comparison"]] == ["round-0009", "round-0010"]
    assert told["comparison"][1]["change_per_10"] == pytest.approx(1.0)
    assert list(told["settings_that_differ"]) == ["learning_rate"]
    assert "learning_rate differs" in say("rounds", "compare", "round-0009", "round-0010")
    with pytest.raises(RoundError, match="round-0011 has not trained"):
        compared(Settings(home=tmp_path), ["round-0011"])


def test_a_round_that_failed_after_its_training_is_compared_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_evo_dagster.rounds.store.RoundStore.keys", lambda self: ["round-0001"])
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path))
    stored(tmp_path, "round-0001", [0.1, 0.2, 0.3], "1e-4")
    for asset in ("policy_evaluation", "training_findings"):
        Warehouse(tmp_path / "warehouse").path([asset], "round-0001").unlink()
    failure = StepFailure(step="policy_evaluation", message="no memory", at=datetime(2026, 1, 5, tzinfo=UTC))
    record_failure(tmp_path / "rounds" / "round-0001", failure)
    told = json.loads(say("rounds", "compare", "--json"))
    assert told["states"] == {"round-0001": "failed at policy_evaluation: no memory"}
    said = "round-0001 did not come to its end: failed at policy_evaluation: no memory\n"
    assert said in say("rounds", "compare")


def test_a_home_without_rounds_has_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(RoundError, match="No round has trained"):
        compared(Settings(home=tmp_path), [])
