"""What a round will ask is looked at before it is opened, and told in the words of whoever asks it later."""

import json
import sys
from pathlib import Path

import pytest

from agent_evo_dagster.analysts.jury.examiner import Surroundings
from agent_evo_dagster.definitions import build_resources
from agent_evo_dagster.errors import AgentEvoError, SettingsError
from agent_evo_dagster.rounds.services import Service, require_services, services
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.analysts.fake_client import FakeClient
from tests.agent_evo_dagster.skills.banks import bank_at


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    price = {"input": 1.0, "output": 2.0, "cache_creation": 1.0, "cache_read": 1.0}
    (tmp_path / "prices.json").write_text(json.dumps({"m": price}))
    return tmp_path / "prices.json"


ANALYST = {"analyst": "openai", "analyst_model": "m", "analyst_key_env": "none"}
LLM = {"judges": ("llm",), "judge_service": "anthropic", "judge_model": "m", "judge_key_env": "none"}
ROLLOUT = {
    "judges": ("rollout",),
    "rollout_reader": "openai",
    "rollout_model": "m",
    "rollout_key_env": "none",
}
CLIENT = r"no program 'claude' is on PATH\. Install it \(npm install -g @anthropic-ai/claude-code\), or "
MISSING = [
    ({**ANALYST, "analyst_model": None}, "AGENT_EVO_ANALYST_MODEL=NAME"),
    ({**ANALYST, "analyst_key_env": None}, "The analysis needs a key, and the variable OPENAI_API_KEY is"),
    ({**ANALYST, "analyst_key_env": "NOT_SET"}, "the variable NOT_SET is not set"),
    ({**ANALYST, "analyst_money": 1.0}, r"The analysis may cost 1\.0 USD, and the model \w+ has no price"),
    ({**ANALYST, "prices": Path("no-such-file.json")}, "no-such-file.json"),
    ({"analyst": "claude_code"}, CLIENT + r"leave AGENT_EVO_ANALYST at rules\."),
    ({**LLM, "judge_service": None}, "names llm, and no service that it asks"),
    ({**LLM, "judge_model": None}, "AGENT_EVO_JUDGE_MODEL=NAME"),
    ({**LLM, "judge_key_env": None}, "The judging needs a key, and the variable ANTHROPIC_API_KEY is"),
    ({**LLM, "judge_money": 1.0}, r"The judging may cost 1\.0 USD, and the model \w+ has no price"),
    ({**LLM, "judge_service": "claude_code"}, CLIENT + r"leave llm out of AGENT_EVO_JUDGES\."),
    ({**ROLLOUT, "rollout_model": None}, "AGENT_EVO_ROLLOUT_MODEL=NAME"),
    ({**ROLLOUT, "rollout_key_env": None}, "The rollout needs a key, and the variable OPENAI_API_KEY is"),
    ({**ROLLOUT, "rollout_money": 1.0}, r"The rollout may cost 1\.0 USD, and the model m has no price"),
    ({"judges": ("rollout",)}, CLIENT + r"leave rollout out of AGENT_EVO_JUDGES\."),
]


def settings(home: Path, **given: object) -> Settings:
    return Settings.model_validate({"home": home, **given})


def test_by_default_a_round_asks_nobody(tmp_path):
    assert services(settings(tmp_path, judge_service="openai", rollout_reader="openai")) == []
    require_services(settings(tmp_path))


@pytest.mark.parametrize(("given", "said"), MISSING)
def test_what_is_missing_is_told_and_refuses_the_round(tmp_path, given, said):
    (service,) = services(settings(tmp_path, **given))
    assert service.missing is not None
    with pytest.raises(SettingsError, match=said) as refused:
        require_services(settings(tmp_path, **given))
    assert f"{service.asker}: {service.missing}" in str(refused.value)


@pytest.mark.parametrize(("given", "said"), [one for one in MISSING if "price" not in one[1]])
def test_it_is_told_in_the_words_that_the_round_would_end_with(tmp_path, given, said):
    """All but the analyst's and the judge's price, which come with an estimate."""
    asked = settings(tmp_path, **given)
    made = build_resources(asked)
    (service,) = services(asked)
    with pytest.raises(AgentEvoError) as ended:
        if service.asker == "analyst":
            made["analyst"].chosen().model.ready()
        elif service.asker == "judge llm":
            made["llm_judge"].examiner("round-0001", Surroundings({})).model.ready()
        else:
            made["rollout_judge"].examiner(bank_at(tmp_path), "round-0001", tmp_path / "kept").ready([])
    assert str(ended.value) == service.missing


def test_all_that_is_there_is_named_in_the_order_in_which_it_is_asked(tmp_path, prices):
    both = {**LLM, **ROLLOUT, **ANALYST, "judges": ("llm", "rollout"), "prices": prices}
    money = {"analyst_money": 1.0, "judge_money": 1.0, "rollout_money": 1.0}
    asked = settings(tmp_path, **both, **money)
    require_services(asked)
    assert services(asked) == [
        Service("analyst", "openai", "m", None),
        Service("judge rollout", "openai", "m", None),
        Service("judge llm", "anthropic", "m", None),
    ]


def test_the_client_needs_to_be_there_and_no_price(tmp_path, monkeypatch):
    client = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", str(client.bin))
    given = {"analyst": "claude_code", "judges": ("rollout", "llm"), "judge_service": "claude_code"}
    found = services(settings(tmp_path, **given, analyst_money=1.0, judge_money=1.0, rollout_money=1.0))
    assert [service.missing for service in found] == [None] * 3 and client.seen == []
    assert found[0].line == "analyst: claude_code, its own choice of model: configured; not asked"


def test_a_table_of_prices_that_is_none_is_told_before(tmp_path):
    (tmp_path / "prices.json").write_text("[]")
    (service,) = services(settings(tmp_path, **ANALYST, analyst_money=1.0, prices=tmp_path / "prices.json"))
    assert "was given as the table of prices and is none" in str(service.missing)


def test_without_the_package_that_sends_requests_no_round_is_opened(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    (service,) = services(settings(tmp_path, **ANALYST))
    assert "pip install 'agent-evo-dagster[vllm]'" in str(service.missing)
