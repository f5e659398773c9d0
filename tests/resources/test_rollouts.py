"""The judge `rollout` from settings: who does the tasks, and what bounds them."""

import json

import pytest

from agent_evo_dagster.errors import AnalystBudgetError, SettingsError
from agent_evo_dagster.rollouts.client_reader import ClientReader
from agent_evo_dagster.rollouts.model_reader import ModelReader
from resources.rollouts import RolloutJudgeResource
from tests.agent_evo_dagster.skills.banks import bank_at


@pytest.fixture
def examiner(tmp_path):
    def make(**options):
        bounds = {"tokens": 1000, "seconds": 60.0, "output_tokens": 100}
        judge = RolloutJudgeResource(
            folder=str(tmp_path / "r"), tasks=str(tmp_path / "t"), **bounds, **options
        )
        return judge.examiner(bank_at(tmp_path), "round-0001", tmp_path / "kept")

    return make


@pytest.fixture
def prices(tmp_path):
    price = {"input": 1.0, "output": 2.0, "cache_creation": 1.0, "cache_read": 1.0}
    (tmp_path / "prices.json").write_text(json.dumps({"m": price}))
    return str(tmp_path / "prices.json")


@pytest.mark.parametrize(("money", "bound"), [(None, 20.0), (3.0, 3.0)])
def test_the_client_is_bounded_in_money_always(examiner, money, bound):
    made = examiner(reader="claude_code", model="sonnet", money=money, workers=3)
    assert made.reader == ClientReader("sonnet") and (made.budget.money, made.workers) == (bound, 3)


def test_a_model_has_the_bound_that_is_given_and_a_price_to_keep_it(examiner, prices):
    made = examiner(reader="openai", model="m", money=3.0, prices=prices)
    assert isinstance(made.reader, ModelReader) and made.reader.price.output == 2.0
    assert made.budget.money == 3.0


def test_a_bound_that_nobody_could_keep_is_refused(examiner):
    with pytest.raises(AnalystBudgetError, match=r"may cost 3\.0 USD, and the model m has no price"):
        examiner(reader="openai", model="m", money=3.0)


def test_a_model_without_a_price_is_bounded_in_tokens(examiner):
    made = examiner(reader="openai", model="m", key_env="none")
    assert (made.budget.money, made.budget.tokens) == (None, 1000)


def test_a_service_without_a_model_is_refused(examiner):
    with pytest.raises(SettingsError, match="AGENT_EVO_ROLLOUT_MODEL=NAME"):
        examiner(reader="anthropic")
