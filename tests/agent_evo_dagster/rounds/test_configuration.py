"""What a probe compares: a patch of settings shows on both sides, whatever was asked of its round."""

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.patches.settings_block import with_default
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.configuration import asked_config, compared_configs
from agent_evo_dagster.skills.bank import SkillBank
from tests.agent_evo_dagster.patches.material import a_patch
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK


@pytest.fixture
def bank() -> SkillBank:
    return SkillBank.open(DEFAULT_BANK)


def moved(bank: SkillBank, name: str, value: float) -> Patch:
    text = bank.sections("rllm-config")["optimisation"]
    return a_patch(with_default(text, name, value), text)


@pytest.mark.parametrize(
    ("request_", "overrides", "file"),
    [
        ("", {}, {}),
        ("learning rate 2e-5", {}, {}),
        ("learning rate 1e-3, 20 steps", {}, {}),
        ("", {"learning_rate": 1e-4}, {}),
        ("", {}, {"learning_rate": 1e-4}),
    ],
)
def test_what_was_asked_of_the_round_hides_no_patch(bank, request_, overrides, file):
    asked = asked_config(bank, request_, overrides, file, seed=3).config
    before, after = compared_configs(asked, bank, moved(bank, "learning_rate", 1e-4))
    assert (before.learning_rate, after.learning_rate) == (2e-5, 1e-4)
    assert before == asked.model_copy(update={"learning_rate": 2e-5})
    assert after == asked.model_copy(update={"learning_rate": 1e-4})


def test_a_value_that_does_not_fit_beside_what_was_asked_for_is_told(bank):
    asked = asked_config(bank, "", {}).config.model_copy(update={"learning_rate": 1e-3, "max_steps": -1})
    with pytest.raises(TrainingError, match=r"p-\w+ cannot be tried beside what was asked of its round"):
        compared_configs(asked, bank, moved(bank, "learning_rate", 1e-4))
