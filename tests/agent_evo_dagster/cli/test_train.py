"""`agent-evo train`: shows what would be trained, from a file, words and flags; then trains it."""

import json

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli import train as module
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENT_EVO_DEPLOYMENT", raising=False)
    return tmp_path / "home"


@pytest.fixture
def launched(monkeypatch):
    """The rounds and jobs that would have been launched."""
    calls = []
    monkeypatch.setattr(module, "launch", lambda root, settings, key, job: calls.append((key, job)) or 0)
    return calls


def run(*arguments, command=app):
    return CliRunner(env={"COLUMNS": "200"}).invoke(command, [*map(str, arguments)], catch_exceptions=False)


def manifest(home, key="round-0001"):
    return RoundStore(Settings(home=home).rounds).load(key)


def test_a_dry_run_shows_and_writes_nothing(home, launched):
    result = run("train", "learning rate 1e-5", "--set", "max_steps=7", "--dry-run")
    assert result.exit_code == 0
    assert "learning_rate" in result.output and "request" in result.output
    assert "max_steps" in result.output and "override" in result.output
    assert launched == [] and not home.exists()


def test_a_training_opens_a_round_and_runs_its_training_alone(home, launched, tmp_path):
    (tmp_path / "run.yaml").write_text("max_steps: 20\nbeta: 0.01\nrequest: learning rate 1e-5\n")
    result = run("train", "--config", tmp_path / "run.yaml", "--set", "max_steps=7", "--seed", "3")
    assert result.exit_code == 0
    assert launched == [("round-0001", "train_policy")]
    opened = manifest(home)
    assert opened.config_file == {"max_steps": 20, "beta": 0.01}
    assert (opened.request, opened.overrides, opened.seed) == ("learning rate 1e-5", {"max_steps": 7}, 3)
    assert "agent-evo rounds run round-0001" in result.output


@pytest.mark.parametrize("name", ["run.yaml", "run.yml", "run.json"])
def test_a_file_may_stand_in_the_place_of_the_words(home, launched, tmp_path, name):
    (tmp_path / name).write_text('{"max_steps": 20, "request": "learning rate 1e-5"}')
    assert run("train", tmp_path / name).exit_code == 0
    opened = manifest(home)
    assert (opened.config_file, opened.request) == ({"max_steps": 20}, "learning rate 1e-5")


def test_a_file_that_is_not_there_is_told_and_not_taken_for_words(home, launched, tmp_path):
    with pytest.raises(TrainingError, match=r"nowhere\.yaml"):
        run("train", tmp_path / "nowhere.yaml")
    assert "not understood" in run("train", "20 steps as in run.yaml", "--dry-run").output
    assert launched == [] and not home.exists()


def test_the_control_learns_nothing(home, launched):
    assert run("train", "--control").exit_code == 0
    assert manifest(home).overrides == {"learning_rate": 0.0}


def test_the_old_command_is_the_same(home, launched, tmp_path):
    old = {"train_backend": "verl", "rollout_n": 4, "verl": {"total_training_steps": 9}, "model_name": "m"}
    (tmp_path / "old.json").write_text(json.dumps(old))
    for option in ("--config", "--config-path"):
        result = run("train", option, tmp_path / "old.json", "--dry-run", command=module.alias)
        assert result.exit_code == 0, result.output
        assert "num_generations" in result.output and "file" in result.output
        assert "model_name: the policy is the folder" in result.output


def test_words_that_were_not_understood_are_told(home):
    result = run("train", "with sprinkles on top", "--dry-run")
    assert "not understood" in result.output and "sprinkles" in result.output


def test_words_of_which_none_was_understood_train_nothing_unless_told_to(home, launched):
    with pytest.raises(TrainingError, match="nothing was understood"):
        run("train", "with sprinkles on top")
    assert launched == [] and not home.exists()
    assert run("train", "with sprinkles on top", "--anyway").exit_code == 0
    assert launched == [("round-0001", "train_policy")]


def test_two_requests_are_refused(home, tmp_path):
    from agent_evo_dagster.errors import SettingsError

    (tmp_path / "run.yaml").write_text("request: 20 steps\n")
    with pytest.raises(SettingsError, match="Leave one of them out"):
        run("train", "30 steps", "--config", tmp_path / "run.yaml", "--dry-run")


def test_a_deployment_in_the_file_reaches_the_run_and_never_replaces_another(
    home, launched, tmp_path, monkeypatch
):
    import os

    from agent_evo_dagster.errors import SettingsError

    (tmp_path / "run.yaml").write_text("max_steps: 3\ndeployment: {inference: local}\n")
    assert run("train", "--config", tmp_path / "run.yaml").exit_code == 0
    named = os.environ["AGENT_EVO_DEPLOYMENT"]
    assert named.startswith(str(home / "deployments"))
    with pytest.raises(SettingsError, match="Leave one of them out"):
        run("train", "--config", tmp_path / "run.yaml")
    monkeypatch.delenv("AGENT_EVO_DEPLOYMENT")
