"""A model reads the text of the skill as its instructions, and its answer is compared."""

import json

import pytest

from agent_evo_dagster.analysts.budget import Names
from agent_evo_dagster.analysts.http import Key
from agent_evo_dagster.analysts.openai import OpenAiModel
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.rollouts.model_reader import ModelReader
from agent_evo_dagster.rollouts.tasks import Check, Task
from agent_evo_dagster.rollouts.types import MOST_TOKENS, MOST_USD, Budget
from tests.agent_evo_dagster.analysts.fake_models import FakeModels, completion, serving
from tests.agent_evo_dagster.rollouts.material import ENOUGH, compiled

ASKED = Task(id="ask", prompt="How many?", answer="42")


def attempt(*script, left=ENOUGH, price=None):
    fake = FakeModels(*script)
    with serving(fake) as url:
        reader = ModelReader(OpenAiModel("m", Key(None, Names()), f"{url}/v1"), Names(), 500, price)
        skills = [compiled("Say 42.\n"), compiled("other", "beta")]
        return reader.attempt(ASKED, "alpha", skills, left), fake


def said(answer, **more):
    return 200, completion(json.dumps({"thoughts": "so", "answer": answer}), **more), {}


def test_the_skill_is_the_system_prompt_and_the_answer_is_compared():
    done, fake = attempt(said("42"), price=Price(input=1.0, output=2.0, cache_creation=1.0, cache_read=1.0))
    assert (done.done, done.finish, done.calls, done.tokens, done.models) == (True, "stop", 1, 125, ("m",))
    assert done.cost_usd == pytest.approx(145e-6)
    (_, body, _) = fake.requests[0]
    system, task = body["messages"]
    assert "Say 42.\n" in system["content"] and "other" not in system["content"]
    assert task == {"role": "user", "content": "How many?"} and body["max_completion_tokens"] == 500
    assert list(body["response_format"]["json_schema"]["schema"]["properties"]) == ["thoughts", "answer"]


def test_a_wrong_answer_is_wrong_whatever_its_thoughts_are():
    done, _ = attempt((200, completion(json.dumps({"thoughts": "42", "answer": "41"})), {}))
    assert done.done is False


def test_an_answer_of_no_form_is_repaired_once_then_lost():
    done, _ = attempt((200, completion("42"), {}), said("42"))
    assert (done.done, done.calls, done.tokens) == (True, 2, 250)
    lost, _ = attempt((200, completion("42"), {}), (200, completion("42"), {}))
    assert (lost.done, lost.finish, lost.tokens) == (
        None,
        "infra_error",
        250,
    ) and "answered twice" in lost.why


def test_a_refusal_is_lost_and_its_cost_counts():
    lost, _ = attempt((200, completion(None, refusal="no"), {}))
    assert (lost.done, lost.calls, lost.ended) == (None, 1, False) and "refused" in lost.why


def test_what_is_left_to_spend_ends_it():
    lost, _ = attempt(said("42"), left=Budget(1000.0, 100, None))
    assert lost.ended and "125 of 100 tokens" in lost.why


def test_more_tokens_than_any_answer_takes_count_as_the_most():
    status, body, headers = said("42")
    huge = (status, {**body, "usage": {"prompt_tokens": 10**30, "completion_tokens": 1}}, headers)
    price = Price(input=1e9, output=1.0, cache_creation=1.0, cache_read=1.0)
    lost, _ = attempt(huge, price=price)
    assert (lost.tokens, lost.cost_usd, lost.ended) == (MOST_TOKENS, MOST_USD, True)


def test_it_takes_tasks_of_words_alone():
    reader = ModelReader(OpenAiModel("m", Key("NO_SUCH_KEY", Names())), Names(), 500)
    assert reader.can_do(ASKED)
    assert not reader.can_do(ASKED.model_copy(update={"files": {"a": "b"}}))
    assert not reader.can_do(Task(id="t", prompt="p", check=Check(command="true")))
    with pytest.raises(AnalystError, match="NO_SUCH_KEY"):
        reader.ready()
