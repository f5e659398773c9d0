import json
import socket
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.training.backends.vllm_client import LONGEST_WAIT, Patience, VllmClient
from agent_evo_dagster.training.backends.vllm_protocol import read_models, read_spread, read_turn
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest
from tests.agent_evo_dagster.training.backends.fake_vllm import FakeVllm, logprob, serving

STOP = 2
REQUEST = TurnRequest((5, 6, 7), 8, 0)


@contextmanager
def talking(fake, *, seconds=5.0, retries=3, api_key=None, waits=None):
    patience = Patience(seconds, retries, (waits if waits is not None else []).append)
    with (
        serving(fake) as url,
        closing(VllmClient(url, patience=patience, connections=4, api_key=api_key)) as client,
    ):
        yield client


def sample(client):
    return client.sample("policy", REQUEST, temperature=0.7, seed=11, stop=STOP)


@pytest.fixture
def fake():
    return FakeVllm(lambda context, seed: [9, 10, STOP])


def test_a_turn_is_the_ids_with_their_log_probabilities(fake):
    with talking(fake) as client:
        assert sample(client) == Turn((9, 10, STOP), (logprob(9), logprob(10), logprob(STOP)))


def test_the_request_leaves_nothing_of_the_distribution_to_the_servers_defaults(fake):
    with talking(fake) as client:
        sample(client)
    body = fake.requests[-1][1]
    wanted = {
        "model": "policy", "prompt": [5, 6, 7], "max_tokens": 8, "temperature": 0.7, "seed": 11, "top_p": 1.0,
        "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0,
        "frequency_penalty": 0.0, "ignore_eos": True, "stop_token_ids": [STOP], "return_token_ids": True,
    }  # fmt: skip
    assert wanted.items() <= body.items()


def test_a_busy_server_is_asked_again_after_the_time_it_names(fake):
    waits = []
    fake.faults = [(429, {"error": "busy"}, {"Retry-After": "7"}), (503, b"", {})]
    with talking(fake, waits=waits) as client:
        assert sample(client).ids == (9, 10, STOP)
    assert waits == [7.0, 1.0]


def test_a_server_cannot_make_us_wait_for_hours(fake):
    waits = []
    fake.faults = [(429, b"", {"Retry-After": "86400"}), (429, b"", {"Retry-After": "tomorrow"})]
    with talking(fake, waits=waits) as client:
        sample(client)
    assert waits == [LONGEST_WAIT, 1.0]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_server_that_stays_busy_is_an_error_that_says_how_often_it_was_asked(fake, status):
    fake.faults = [(status, {"error": "come back later"}, {})] * 4
    with talking(fake) as client, pytest.raises(InferenceError) as caught:
        sample(client)
    assert f"asked 4 times; at last status {status}" in str(caught.value)
    assert "come back later" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"), [(400, "too long"), (401, "api_key_env"), (404, "vLLM server"), (500, "own log")]
)
def test_a_refusal_is_an_error_at_once(fake, status, said):
    fake.faults = [(status, {"error": {"message": "prompt is too long"}}, {})]
    with talking(fake) as client, pytest.raises(InferenceError, match=said):
        sample(client)
    assert len(fake.requests) == 1


def test_a_server_that_does_not_answer_in_time_is_asked_again_and_then_given_up(fake):
    fake.faults = [0.6, 0.6]
    with talking(fake, seconds=0.2, retries=1) as client:
        with pytest.raises(InferenceError, match=r"asked 2 times; at last no answer within 0.2 s"):
            sample(client)
        assert sample(client).ids == (9, 10, STOP)


def test_no_server_at_all_is_an_error_with_its_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    patience = Patience(1.0, 1, lambda seconds: None)
    with closing(VllmClient(url, patience=patience, connections=1)) as client:
        assert not client.healthy()
        with pytest.raises(InferenceError, match=f"{url}/v1/completions was asked 2 times; at last Connect"):
            sample(client)


def test_the_key_is_sent_and_shown_in_no_error(fake):
    fake.faults = [(401, {"error": "who are you"}, {})]
    with talking(fake, api_key="s3cret-key") as client, pytest.raises(InferenceError) as caught:
        sample(client)
    assert fake.requests[-1][2]["Authorization"] == "Bearer s3cret-key"
    assert "s3cret" not in str(caught.value)


def test_prompts_never_go_through_a_proxy_of_the_environment(fake, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with talking(fake) as client:
        assert sample(client).ids == (9, 10, STOP)


def without(*path):
    """A change to an answer: the field at `path` is gone."""

    def change(answer):
        inner = answer["choices"][0]
        for name in path[:-1]:
            inner = inner[name]
        del inner[path[-1]]
        return answer

    return change


def with_(value, *path):
    def change(answer):
        inner = answer["choices"][0]
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
        return answer

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda answer: b"<html>not JSON</html>", "no completion"),
        (lambda answer: {"choices": []}, "no completion.*choices"),
        (lambda answer: {"choices": answer["choices"] * 2}, "no completion.*choices"),
        (without("token_ids"), "no token ids"),
        (without("prompt_token_ids"), "no token ids"),
        (with_([5, 6], "prompt_token_ids"), "encodes prompts again"),
        (without("logprobs"), "no log-probabilities"),
        (with_(None, "logprobs"), "no log-probabilities"),
        (with_([-0.1], "logprobs", "token_logprobs"), "1 log-probabilities for 3 tokens"),
        (with_([-0.1, None, -0.2], "logprobs", "token_logprobs"), "that are none"),
        (with_([-0.1, 0.5, -0.2], "logprobs", "token_logprobs"), "that are none"),
        (with_("abort", "finish_reason"), "'abort'"),
    ],
)
def test_an_answer_that_cannot_be_trained_on_is_an_error(fake, change, said):
    fake.change = change
    with talking(fake) as client, pytest.raises(InferenceError, match=said):
        sample(client)


def test_log_probabilities_of_raw_logits_are_refused(fake):
    with talking(fake) as client:
        client.require_processed("policy", (5,), STOP)
        fake.processed = False
        with pytest.raises(InferenceError, match="logprobs-mode processed_logprobs"):
            client.require_processed("policy", (5,), STOP)


def test_weights_are_reloaded_and_what_was_cached_is_forgotten(fake, tmp_path):
    with talking(fake) as client:
        client.load_weights(tmp_path)
    assert [path for path, _, _ in fake.requests] == ["/collective_rpc", "/reset_prefix_cache"]
    assert fake.loaded == [str(tmp_path)]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "token_ids", "prompt_token_ids", "logprobs", "token_logprobs", "data"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON | st.lists(st.dictionaries(st.just("x"), st.integers())).map(lambda c: {"choices": c}))
@settings(deadline=None)
def test_whatever_a_server_answers_is_a_turn_or_an_error_of_ours(answer):
    text = json.dumps(answer).encode()
    for read in (lambda: read_turn(text, (1,)), lambda: read_spread(text), lambda: read_models(text)):
        try:
            read()
        except InferenceError as error:
            assert str(error)
