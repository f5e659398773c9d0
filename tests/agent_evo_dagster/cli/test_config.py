"""`agent-evo config check`: what a round would train with, told before anything is opened."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli.config import remarks
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENT_EVO_BANK", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "home"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["config", "check", *arguments])


def test_without_a_request_the_settings_of_the_skills_are_shown(home: Path) -> None:
    done = check()
    assert done.exit_code == 0
    assert "skill: rllm-config/optimisation" in done.output
    assert "1,280 rollouts to train, 1,200 to evaluate" in done.output
    assert not home.exists()


def test_what_was_asked_for_is_shown_with_what_it_replaces() -> None:
    done = check("learning rate 1e-4", "--set", "max_steps=4")
    assert done.exit_code == 0
    assert "instead of 2e-05 (skill: rllm-config/optimisation)" in done.output
    assert "512 rollouts to train" in done.output
    assert "num_generations" not in done.output
    assert "num_generations" in check("--set", "max_steps=4", "--all").output


def test_words_that_say_nothing_are_told_and_give_exit_code_3() -> None:
    done = check("学习率 1e-4 on the moon")
    assert (done.exit_code, "not understood: on the moon" in done.output) == (3, True)
    assert done.output.startswith("not understood: ")


def test_one_json_document_has_every_setting_with_its_source() -> None:
    done = check("20 steps", "--json")
    told = json.loads(done.output)
    assert {row["name"] for row in told["settings"]} == set(TrainingConfig.model_fields)
    (steps,) = (row for row in told["settings"] if row["name"] == "max_steps")
    assert (steps["value"], steps["source"], steps["origin"]) == (20, "request", "20 steps")
    assert (told["not_understood"], told["rollouts"]["training"]) == (None, 2560)


@pytest.mark.parametrize("arguments", [["learning rate 7"], ["--set", "max_steps=0"]])
def test_a_value_out_of_range_is_refused(arguments: list[str]) -> None:
    done = check(*arguments)
    assert done.exit_code == 1
    assert isinstance(done.exception, TrainingError)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rate": 0}, "control"),
        ({"num_generations": 2}, "below 4"),
        ({"max_steps": 2, "warmup_steps": 2}, "never reached"),
        ({"max_new_tokens": 97, "max_completion_length": 96}, "before max_new_tokens 97"),
    ],
)
def test_what_is_seldom_meant_is_remarked(values: dict[str, float], message: str) -> None:
    (remark,) = remarks(TrainingConfig.model_validate(values))
    assert message in remark


def test_the_defaults_need_no_remark() -> None:
    assert remarks(TrainingConfig.model_validate({})) == []
