"""Analysts behind a service: what is asked, what each kind of answer leads to, and what it takes."""

import json
import socket

import pytest

from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError, SettingsError
from agent_evo_dagster.patches.drafts import ProseDraft
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, completion, message, serving
from tests.agent_evo_dagster.analysts.material import KEY, analyse, answer, choice, findings

SERVICES = ("anthropic", "openai")
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def ask(tmp_path):
    """Analyses with a service that follows a script; returns the analysis and the fake."""

    def run(service, *script, told=None, **options):
        fake = FakeModels(*script)
        with serving(fake) as url:
            base = url if service == "anthropic" else f"{url}/v1"
            try:
                return analyse(choice(service, tmp_path, base, **options), told=told), fake
            except AnalystError as error:
                error.fake = fake
                raise

    return run


@pytest.mark.parametrize("service", SERVICES)
def test_an_answer_becomes_drafts_with_what_it_took(ask, service, tmp_path):
    told = []
    analysis, fake = ask(service, answer(), told=told)
    (draft,) = analysis.drafts
    assert isinstance(draft, ProseDraft) and draft.findings == ("f-0",) and draft.skill == "rllm-run"
    assert analysis.observations[0].summary == "it fails"
    run = analysis.run
    assert (run.analyst, run.model, run.usage.calls, run.usage.tokens) == (service, "m", 1, 125)
    assert run.usage.cost_usd is None and not run.repaired and not run.recorded
    assert run.usage.tokens <= run.estimate.tokens and run.estimate.line() in told[0]
    ((path, _, headers),) = fake.requests
    assert path == PATHS[service]
    sent = headers.get("x-api-key") or headers["Authorization"].removeprefix("Bearer ")
    assert sent == KEY
    assert KEY not in "".join(path.read_text() for path in tmp_path.iterdir()) + told[0]


@pytest.mark.parametrize("service", SERVICES)
def test_the_model_that_answered_is_kept_as_the_service_names_it(ask, service):
    other = (message if service == "anthropic" else completion)(answer()) | {"model": "m-2026-01-01"}
    analysis, _ = ask(service, (200, other, {}))
    again, _ = ask(service)
    assert [one.run.told for one in (analysis, again)] == ["m-2026-01-01"] * 2
    assert analysis.run.model == "m"


@pytest.mark.parametrize("service", SERVICES)
def test_the_same_question_is_not_asked_again(ask, service):
    first, _ = ask(service, answer())
    again, fake = ask(service)
    assert fake.requests == [] and again.run.recorded and again.run.usage.calls == 0
    assert (again.drafts, again.observations) == (first.drafts, first.observations)
    took = [
        (one.calls, one.tokens, one.cost_usd) for one in (again.run.took, first.run.took, first.run.usage)
    ]
    assert took == [took[0]] * 3 and took[0][0] == 1


def test_a_record_that_cannot_be_read_is_an_error(ask, tmp_path):
    ask("openai", answer())
    (path,) = tmp_path.iterdir()
    path.write_text("{")
    with pytest.raises(AnalystError, match="Delete it to ask again"):
        ask("openai")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "bad",
    ["not JSON", "{}", '{"findings": [], "patches": [{"kind": "rm"}]}', answer(value=1), "[" * 5000, ""],
    ids=["words", "empty", "wrong kind", "a field too many", "nested", "nothing"],
)
def test_a_wrong_answer_is_repaired_once(ask, service, bad):
    analysis, fake = ask(service, bad, answer())
    assert analysis.run.repaired and analysis.run.usage.calls == 2 and len(analysis.drafts) == 1
    turns = fake.requests[1][1]["messages"]
    assert turns[-2]["content"] == (bad or "(nothing)") and "cannot be used" in turns[-1]["content"]


@pytest.mark.parametrize("service", SERVICES)
def test_two_wrong_answers_are_an_error_and_nothing_is_recorded(ask, service, tmp_path):
    with pytest.raises(AnalystError, match="answered twice with what cannot be used") as raised:
        ask(service, "nonsense", "[]", answer())
    assert len(raised.value.fake.requests) == 2 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("service", "reply", "said"),
    [
        ("anthropic", message("", stop="refusal"), "refused"),
        ("anthropic", message('{"fin', stop="max_tokens"), "OUTPUT_TOKENS"),
        ("anthropic", message("", stop="pause_turn"), "pause_turn"),
        ("anthropic", {"type": "error"}, "no message"),
        ("openai", completion(None, refusal="I cannot"), "refused"),
        ("openai", completion("", stop="content_filter"), "refused"),
        ("openai", completion('{"fin', stop="length"), "OUTPUT_TOKENS"),
        ("openai", completion("{}", stop="tool_calls"), "tool_calls"),
        ("openai", {"choices": []}, "no chat completion"),
        ("openai", b"<html>", "no chat completion"),
    ],
)
def test_a_refusal_or_a_cut_answer_is_an_error_at_once(ask, service, reply, said):
    with pytest.raises(AnalystError, match=said) as raised:
        ask(service, (200, reply, {}), answer())
    assert len(raised.value.fake.requests) == 1


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_a_passing_failure_is_tried_again(ask, service, status):
    analysis, fake = ask(service, (status, {"error": {"message": "busy"}}, {"Retry-After": "2"}), answer())
    assert len(fake.requests) == 2 == analysis.run.usage.calls and not analysis.run.repaired


@pytest.mark.parametrize("service", SERVICES)
def test_a_rate_limit_beyond_the_time_is_not_waited_for(ask, service):
    with pytest.raises(AnalystBudgetError, match=r"429.*next try in 900 s.*ANALYST_SECONDS"):
        ask(service, (429, {"error": {"message": "slow down"}}, {"retry-after": "900"}))


def test_failures_that_stay_end_with_the_budget_of_calls(ask):
    with pytest.raises(AnalystBudgetError, match=r"all 3 calls; the last answer was status 500: .*boom"):
        ask("openai", *[(500, b"boom", {})] * 3, budget=Budget(calls=3))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 302])
def test_what_no_second_try_mends_is_an_error_that_shows_no_key(ask, status):
    echo = (status, f"bad key {KEY} \x1b[31m", {"Location": "http://127.0.0.1:9/"})
    with pytest.raises(AnalystError, match=f"status {status}") as raised:
        ask("anthropic", echo)
    assert KEY not in str(raised.value) and "\x1b" not in str(raised.value)
    assert len(raised.value.fake.requests) == 1


def test_a_service_that_does_not_answer_ends_with_the_time(ask):
    with pytest.raises(AnalystBudgetError, match="no whole answer within"):
        ask("openai", 2.0, budget=Budget(seconds=0.3))


def test_a_service_that_is_not_there_is_an_error(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(AnalystBudgetError, match="ConnectError"):
        analyse(choice("anthropic", tmp_path, url, budget=Budget(calls=2)))


@pytest.mark.parametrize("service", SERVICES)
def test_a_missing_key_is_an_error_before_anything_is_sent(ask, service, monkeypatch):
    monkeypatch.setenv(f"{service.upper()}_API_KEY", " ")
    with pytest.raises(AnalystError, match=f"{service.upper()}_API_KEY is not set") as raised:
        ask(service, answer())
    assert raised.value.fake.requests == []


def test_a_server_without_keys_is_sent_none(ask, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    _, fake = ask("openai", answer(), key_env="none")
    assert "Authorization" not in fake.requests[0][2]


def test_a_service_needs_a_models_name_and_an_analyst_must_exist(tmp_path):
    with pytest.raises(SettingsError, match="AGENT_EVO_ANALYST_MODEL"):
        analyse(choice("openai", tmp_path, model=None))
    with pytest.raises(SettingsError, match="'oracle'"):
        analyse(choice("oracle", tmp_path))


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(calls=1), "ANALYST_CALLS"),
        (Budget(tokens=100), "ANALYST_TOKENS"),
        (Budget(money=0.000001), "ANALYST_MONEY"),
    ],
)
def test_an_estimate_beyond_the_budget_is_refused_and_shown(ask, prices, budget, said):
    told = []
    with pytest.raises(AnalystBudgetError, match=f"nothing was asked.*{said}") as raised:
        ask("anthropic", answer(), budget=budget, prices=prices, told=told)
    assert raised.value.fake.requests == [] and "at most 2 answers" in told[0]


def test_a_budget_of_money_needs_a_price(ask):
    with pytest.raises(AnalystBudgetError, match="has no price"):
        ask("openai", answer(), budget=Budget(money=1.0))


def test_the_cost_follows_the_price(ask, prices):
    analysis, _ = ask("openai", answer(), budget=Budget(money=1.0), prices=prices)
    assert analysis.run.usage.cost_usd == pytest.approx((105 * 3 + 20 * 15) / 1e6)


def test_more_tokens_than_the_budget_are_an_error_although_an_answer_came(ask):
    greedy = completion(answer())
    greedy["usage"]["completion_tokens"] = 10**6
    with pytest.raises(AnalystBudgetError, match="of 120000 tokens"):
        ask("openai", (200, greedy, {}))


def test_what_the_service_does_not_count_is_reckoned(ask):
    silent = {**completion(answer()), "usage": None}
    analysis, _ = ask("openai", (200, silent, {}))
    assert analysis.run.usage.tokens > 1000


def test_an_answer_without_end_is_not_read(ask):
    with pytest.raises(AnalystError, match="which no analysis has"):
        ask("openai", (200, b" " * (9 * 1024 * 1024), {}))


def test_without_findings_nothing_is_asked(tmp_path):
    from agent_evo_dagster.analysts.registry import analyst_of
    from agent_evo_dagster.analysts.types import Material

    analyst = analyst_of(choice("anthropic", tmp_path, "http://127.0.0.1:9"))
    analysis = analyst.analyse(Material(findings(), {}, {}), print)
    assert analysis.drafts == () and analysis.run.usage.calls == 0


def test_rules_draft_nothing_and_leave_the_findings_to_the_rules(tmp_path):
    analysis = analyse(choice("rules", tmp_path, model=None))
    assert analysis.drafts is None and analysis.run.analyst == "rules" and analysis.run.estimate is None


@pytest.fixture
def prices(tmp_path_factory):
    path = tmp_path_factory.mktemp("prices") / "prices.json"
    path.write_text(json.dumps({"m": {"input": 3, "output": 15, "cache_creation": 3, "cache_read": 0.3}}))
    return path
