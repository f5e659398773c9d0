"""What the page on the gate shows is what there is: its commands run, its files are read, its words exist."""

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
import yaml
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.approvals import parse_approval
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.leaks import ANSWER, LINE, WINDOW, WORD
from agent_evo_dagster.patches.naming import MAX_NAMED
from agent_evo_dagster.patches.propose import TOKENS
from agent_evo_dagster.patches.prose import MAX_ADDED, MAX_SECTION
from agent_evo_dagster.patches.types import GateVerdict
from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.settings import ApprovalPolicy, RollbackScope
from agent_evo_dagster.skills.bank import create_bank
from assets.decisions import Verdicts
from tests.agent_evo_dagster.cli.test_patches import a_round, good
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

PAGE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


COMMANDS = [line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_runs(line, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path))
    monkeypatch.delenv("AGENT_EVO_BANK", raising=False)
    create_bank(DEFAULT_BANK, tmp_path / "skill_bank")
    ledger = ledger_of(tmp_path / "skill_bank")
    patch = a_round(tmp_path, ledger, rows=good())
    given = {"PATCH_ID": patch, "NAME": "Ada", "TEXT": "seen"}
    if "OTHER_PATCH_ID" in line:
        given = {"OTHER_PATCH_ID": a_round(tmp_path, ledger, "round-0002", "max_steps"), **given}
    for word, value in given.items():
        line = line.replace(word, value)
    words = shlex.split(line)
    result = CliRunner().invoke(app, words[1:])
    if "rollback" in words:  # of a patch that is in no skill
        assert isinstance(result.exception, SkillBankError) and patch in str(result.exception)
    else:
        assert (words[0], result.exit_code) == ("agent-evo", 0), result.output


def test_the_file_and_the_configuration_that_are_shown_are_read():
    task, file, config = blocks("yaml")
    assert split_of(Task.model_validate(yaml.safe_load(task)).id) == "judge"
    assert parse_approval(file).by == "Ada"
    values = yaml.safe_load(config)["ops"]["patch_decisions"]["config"]
    assert Verdicts(**values).request().named() == [("approve", "p-49852d4bfb677713")]


def test_every_verdict_policy_and_limit_is_told():
    for word in (
        *(verdict.value for verdict in GateVerdict),
        *get_args(ApprovalPolicy),
        *get_args(RollbackScope),
    ):
        assert f"| `{word}` |" in PAGE
    limits = (f"{TOKENS:,} tokens", f"{MAX_SECTION:,} characters", f"at most {MAX_ADDED:,}")
    assert all(limit in PAGE for limit in limits)
    assert f"{WINDOW} letters and digits in a row" in PAGE and f"a whole line of {LINE} or more" in PAGE
    assert f"{ANSWER} letters and digits or more (a single word without a digit: {WORD})" in PAGE
    assert f"more than {['zero', 'one', 'two', 'three'][MAX_NAMED]} troubles" in PAGE
