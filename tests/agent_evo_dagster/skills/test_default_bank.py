"""The shipped bank: its skills are valid, short, and name commands and settings that exist."""

import re
import shlex

import pytest
import yaml
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.patches.fences import scan
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all, compile_skill
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.training.config import TrainingConfig
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

RLLM = [
    "rllm-clarify",
    "rllm-config",
    "rllm-config-check",
    "rllm-run",
    "rllm-monitor",
    "rllm-analyze",
    "rllm-analyze-deep",
    "rllm-analyze-accuracy",
    "rllm-train",
    "rllm-remote-connect",
    "rllm-remote-run",
    "rllm-remote-monitor",
]
TRAJ = [
    "traj-setup",
    "traj-segment",
    "traj-analyze-rllm",
    "traj-optimize",
    "traj-status",
    "traj-loop",
    "traj-train-optimize",
    "traj-launch-training",
]
NAMES = [*RLLM, *TRAJ]


@pytest.fixture(scope="module")
def bank() -> SkillBank:
    return SkillBank.open(DEFAULT_BANK)


def test_every_skill_is_valid_and_short(bank: SkillBank) -> None:
    found = validate(bank)
    assert (found.problems, found.warnings) == ({}, {})
    assert [skill.name for skill in compile_all(bank)] == NAMES
    for skill in compile_all(bank):
        assert len(skill.text) < 5_000
        assert skill.text.count("\n") < 90


def test_what_optimises_is_no_target_of_optimisation(bank: SkillBank) -> None:
    assert [ref.name for ref in bank.targets()] == RLLM
    assert [ref.name for ref in bank.skills() if ref.group == "traj"] == TRAJ
    assert bank.file.groups["traj"].optimization_target is False  # said, not only left out


@pytest.mark.parametrize("name", NAMES)
def test_front_matter_is_what_agents_accept(bank: SkillBank, name: str) -> None:
    head = compile_skill(bank, name).text.split("---")[1]
    fields = yaml.safe_load(head)
    assert set(fields) == {"name", "description"}
    assert len(fields["description"]) < 200


def test_settings_are_the_cautious_defaults_of_the_training_configuration(bank: SkillBank) -> None:
    settings = {item.name: item for item in compile_skill(bank, "rllm-config").settings}
    assert {name: (item.default, item.min, item.max) for name, item in settings.items()} == {
        "learning_rate": (2e-5, 1e-6, 2e-3),
        "max_steps": (10, 2, 200),
        "beta": (0.0, 0.0, 0.2),
        "epsilon_high": (0.28, 0.1, 0.5),
        "max_grad_norm": (1.0, 0.1, 10.0),
        "prompts_per_step": (16, 4, 256),
        "num_generations": (8, 2, 64),
        "temperature": (1.0, 0.3, 1.5),
        "max_turns": (3, 1, 8),
        "max_new_tokens": (40, 8, 256),
        "max_completion_length": (96, 32, 1024),
    }
    defaults = TrainingConfig.model_validate({}).model_dump()
    for name, item in settings.items():
        assert defaults[name] == item.default
        for bound in (item.min, item.max):
            TrainingConfig.model_validate({name: bound})


def test_other_skills_have_no_settings(bank: SkillBank) -> None:
    assert [skill.name for skill in compile_all(bank) if skill.settings] == ["rllm-config"]


def commands(text: str) -> list[str]:
    """Every `agent-evo` command line in a skill: in code blocks, and in code within a line."""
    blocks = [line.text.split("#")[0].strip() for line in scan(text) if line.part == "code"]
    return [line for line in [*blocks, *re.findall(r"`([^`\n]+)`", text)] if line.startswith("agent-evo ")]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_line_in_a_skill_is_understood(bank: SkillBank, name: str) -> None:
    for line in commands(compile_skill(bank, name).text):
        result = CliRunner().invoke(app, [*shlex.split(line)[1:], "--help"])
        assert result.exit_code == 0, f"{line}: {result.output}"
        assert "--help" in result.output


def test_a_command_line_that_does_not_exist_is_noticed() -> None:
    for words in (["rounds", "start"], ["rounds", "run", "--rounds", "3"], ["squash"]):
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 2


def test_files_that_other_skills_name_exist(bank: SkillBank) -> None:
    text = "".join(skill.text for skill in compile_all(bank))
    assert set(re.findall(r"`((?:rllm|traj)-[a-z-]+)`", text)) <= set(NAMES)


def test_every_skill_is_named_by_another_or_begins_a_chain(bank: SkillBank) -> None:
    skills = compile_all(bank)
    begin = {"rllm-train", "traj-status", "traj-loop", "traj-train-optimize"}
    for name in set(NAMES) - begin:
        assert any(f"`{name}`" in skill.text for skill in skills if skill.name != name), name
