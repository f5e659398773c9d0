"""`agent-evo skills tasks`: whether a skill has tasks enough to try its patches on."""

import json

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import TaskError, UnknownSkillError
from agent_evo_dagster.evaluation.splits import split_of
from tests.agent_evo_dagster.rollouts.material import written
from tests.agent_evo_dagster.skills.banks import bank_at


@pytest.fixture
def bank(tmp_path):
    return bank_at(tmp_path)


def told(bank, *arguments):
    return CliRunner().invoke(app, ["skills", "tasks", "alpha", "--bank", str(bank.path), *arguments])


def test_a_skill_without_tasks_is_told_how_to_get_them(bank):
    output = told(bank).output
    for said in (
        "alpha has no tasks",
        "from 20 tasks",
        "tasks/alpha/ID.yaml",
        "docs/gate.md",
        "--ids BEGINNING",
    ):
        assert said in output


def test_tasks_are_listed_with_their_split_and_what_a_trial_takes(bank):
    written(bank.path / "tasks", "alpha")
    (bank.path / "tasks" / "alpha" / "x.yaml").write_text("id: x\nprompt: p\ncheck: {command: 'true'}\n")
    output = told(bank).output
    assert "20 of its 21 tasks are of the split judge; a patch takes 240 rollouts" in output
    rows = json.loads(told(bank, "--json").output)["tasks"]
    assert {row["told_by"] for row in rows} == {"check", "answer"} and len(rows) == 21


def test_ids_that_the_judge_may_use_are_found(bank):
    written(bank.path / "tasks", "alpha", 1)
    ids = json.loads(told(bank, "--ids", "problem", "--json").output)["ids"]
    assert len(ids) == 20 and {split_of(name) for name in ids} == {"judge"}
    assert not set(ids) & {path.stem for path in (bank.path / "tasks" / "alpha").iterdir()}
    assert "Of the split judge: sum-" in told(bank, "--ids", "sum").output


@pytest.mark.parametrize("beginning", ["x y", "", "Read", "a_b", "-a", "../x", "x" * 71])
def test_ids_that_no_task_can_have_are_not_offered(bank, beginning):
    asked = told(bank, f"--ids={beginning}")
    assert isinstance(asked.exception, TaskError) and "lower-case letters, digits" in str(asked.exception)


def test_a_broken_task_and_an_unknown_skill_are_errors(bank):
    written(bank.path / "tasks", "alpha", 1)
    (bank.path / "tasks" / "alpha" / "y.yaml").write_text("id: y\n")
    assert isinstance(told(bank).exception, TaskError)
    unknown = CliRunner().invoke(app, ["skills", "tasks", "beta", "--bank", str(bank.path)])
    assert isinstance(unknown.exception, UnknownSkillError)
