import copy
import dataclasses
import itertools
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.training.environments.types import Brief, Reply
from agent_evo_dagster.training.rollout.decoder import Decoder
from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.types import Limits, Sampling
from agent_evo_dagster.training.types import Finish

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)
SAMPLED = Sampling(1.0, 11)
GREEDY = Sampling(0.0, 0)


def episodes(environment, count, seed=0):
    return [environment.episode(task) for task in environment.tasks("dev", count, seed)]


def one_at_a_time(model, renderer, episode, limits):
    """The reference: plain `generate`, one conversation, one turn after the other."""
    import torch

    ids = list(renderer.prompt(episode.opening()))
    start = len(ids)
    for _ in range(limits.max_turns):
        known = torch.tensor([ids])
        with torch.no_grad():
            output = model.generate(
                known,
                attention_mask=torch.ones_like(known),
                do_sample=False,
                max_new_tokens=min(limits.max_new_tokens, limits.max_completion_length - len(ids) + start),
                eos_token_id=renderer.end_of_turn,
                pad_token_id=renderer.pad,
            )
        turn = output[0, len(ids) :].tolist()
        ids += turn
        if turn[-1] != renderer.end_of_turn:
            break
        reply = episode.act(renderer.text(turn[:-1]))
        if reply.done:
            break
        ids += renderer.after_turn(reply.results)
    return ids[start:]


def test_greedy_rollouts_equal_one_at_a_time_generation(policy, renderer, environment):
    rollouts = roll_out(policy.model, renderer, episodes(environment, 24), LIMITS, GREEDY)
    expected = [
        one_at_a_time(policy.model, renderer, episode, LIMITS) for episode in episodes(environment, 24)
    ]
    assert [rollout.completion_ids for rollout in rollouts] == expected
    assert {rollout.turns for rollout in rollouts} == {1, 2}


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_any_causal_model_of_transformers_rolls_out(torch, renderer, environment, family):
    import transformers

    torch.manual_seed(0)
    model = {
        "llama": lambda: transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=448,
                hidden_size=32,
                intermediate_size=64,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=1,
                initializer_range=0.3,
            )
        ),
        "gpt2": lambda: transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=448, n_positions=256, n_embd=32, n_layer=2, n_head=2, initializer_range=0.3
            )
        ),
    }[family]().eval()
    limits = Limits(2, 16, 60)
    rollouts = roll_out(model, renderer, episodes(environment, 6), limits, GREEDY)
    expected = [one_at_a_time(model, renderer, episode, limits) for episode in episodes(environment, 6)]
    assert [rollout.completion_ids for rollout in rollouts] == expected


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_are_those_of_a_plain_forward_pass(
    torch, policy, renderer, environment, temperature
):
    for rollout in roll_out(
        policy.model, renderer, episodes(environment, 8), LIMITS, Sampling(temperature, 3)
    ):
        ids = torch.tensor([[*rollout.prompt_ids, *rollout.completion_ids]])
        with torch.no_grad():
            logits = policy.model(input_ids=ids, use_cache=False).logits[0, len(rollout.prompt_ids) - 1 : -1]
        expected = torch.log_softmax(logits / temperature, -1).gather(
            1, torch.tensor(rollout.completion_ids)[:, None]
        )[:, 0]
        mask = torch.tensor(rollout.response_mask).bool()
        assert torch.allclose(torch.tensor(rollout.logprobs)[mask], expected[mask], atol=1e-4)
        assert not torch.tensor(rollout.logprobs)[~mask].any()


def test_the_mask_is_1_on_sampled_tokens_alone(policy, renderer, environment):
    tried = episodes(environment, 32)
    rollouts = roll_out(policy.model, renderer, tried, LIMITS, SAMPLED)
    assert {rollout.turns for rollout in rollouts} >= {1, 2}
    for rollout in rollouts:
        written = [token.id for token in rollout.tokens if not token.sampled]
        text = renderer.text(written)
        assert text.count("<tool_response>") == rollout.turns - 1
        assert rollout.tokens[-1].sampled
        ends = [token for token in rollout.tokens if token.sampled and token.id == renderer.end_of_turn]
        assert len(ends) == rollout.turns


def test_the_same_seed_gives_the_same_tokens_and_another_seed_others(policy, renderer, environment):
    def run(seed):
        return [
            rollout.completion_ids
            for rollout in roll_out(
                policy.model, renderer, episodes(environment, 16), LIMITS, Sampling(1.0, seed)
            )
        ]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_a_rollout_does_not_depend_on_those_beside_it(policy, renderer, environment):
    many = roll_out(policy.model, renderer, episodes(environment, 24), LIMITS, SAMPLED)
    few = roll_out(policy.model, renderer, episodes(environment, 24)[:5], LIMITS, SAMPLED)
    assert [rollout.completion_ids for rollout in many[:5]] == [rollout.completion_ids for rollout in few]


class OneByOne(Decoder):
    """Never takes more than one token in a step."""

    def __init__(self, *given):
        super().__init__(*given)
        self.most = 1


class Counted(Decoder):
    """Notes how many tokens each step took."""

    taken: ClassVar[list[int]] = []

    def step(self, *tokens):
        self.taken.append(len(tokens))
        return super().step(*tokens)


@pytest.mark.parametrize("case", [(GREEDY, 24), (SAMPLED, 24), (SAMPLED, 2)])
def test_what_all_are_told_at_once_is_as_if_told_one_by_one(policy, renderer, environment, monkeypatch, case):
    sampling, count = case

    def run(decoder):
        monkeypatch.setattr("agent_evo_dagster.training.rollout.engine.Decoder", decoder)
        return roll_out(policy.model, renderer, episodes(environment, count), LIMITS, sampling)

    Counted.taken.clear()
    expected, rollouts = run(OneByOne), run(Counted)
    assert max(Counted.taken) > 5
    assert [rollout.completion_ids for rollout in rollouts] == [
        rollout.completion_ids for rollout in expected
    ]
    for rollout, other in zip(rollouts, expected, strict=True):
        assert rollout.response_mask == other.response_mask
        assert rollout.logprobs == pytest.approx(other.logprobs, abs=2e-5)
        assert rollout.faithful


def test_a_rollout_whose_time_is_up_while_all_are_told_ends_there(policy, renderer, environment, monkeypatch):
    readings = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(readings) / 100)
    monkeypatch.setattr("agent_evo_dagster.training.rollout.slot.time", clock)
    limits = dataclasses.replace(LIMITS, rollout_seconds=0.4)
    rollouts = roll_out(policy.model, renderer, episodes(environment, 2), limits, SAMPLED)
    assert {rollout.finish for rollout in rollouts} == {Finish.TIMEOUT}
    assert not any(rollout.tokens[-1].sampled for rollout in rollouts)
    assert all(rollout.faithful for rollout in rollouts)


class Spy(Brief):
    """An episode that counts its turns, answers with a fixed result, and breaks when told to."""

    def __init__(self, inner, result="7", breaks=False):
        self.inner, self.task, self.result, self.breaks, self.acted = inner, inner.task, result, breaks, 0

    def opening(self):
        return self.inner.opening()

    def act(self, text):
        self.acted += 1
        if self.breaks:
            raise ConnectionError("the tool server is gone")
        return Reply((self.result,), done=False)


def test_a_call_that_is_cut_at_the_turns_limit_is_never_executed(policy, renderer, environment):
    spies = [Spy(episode) for episode in episodes(environment, 8)]
    rollouts = roll_out(policy.model, renderer, spies, Limits(3, 9, 96), SAMPLED)
    assert {rollout.finish for rollout in rollouts} == {Finish.LENGTH}
    assert all(len(rollout.tokens) == 9 and rollout.turns == 1 for rollout in rollouts)
    assert not any(spy.acted for spy in spies)


def test_a_call_that_is_cut_at_the_completions_limit_is_never_executed(policy, renderer, environment):
    spies = [Spy(episode) for episode in episodes(environment, 8)]
    rollouts = roll_out(policy.model, renderer, spies, Limits(3, 40, 10), SAMPLED)
    assert {(rollout.finish, len(rollout.tokens)) for rollout in rollouts} == {(Finish.LENGTH, 10)}
    assert not any(spy.acted for spy in spies)


def test_turns_that_are_used_up_end_the_rollout(policy, renderer, environment):
    spies = [Spy(episode) for episode in episodes(environment, 8)]
    rollouts = roll_out(policy.model, renderer, spies, Limits(2, 40, 200), GREEDY)
    assert {(rollout.finish, rollout.turns) for rollout in rollouts} == {(Finish.TOOL_LIMIT, 2)}
    assert [spy.acted for spy in spies] == [2] * 8


def test_a_result_that_does_not_fit_ends_the_rollout(policy, renderer, environment):
    spies = [Spy(episode, result="1" * 90) for episode in episodes(environment, 4)]
    rollouts = roll_out(policy.model, renderer, spies, LIMITS, GREEDY)
    assert {rollout.finish for rollout in rollouts} == {Finish.LENGTH}
    assert all(rollout.tokens[-1].id == renderer.end_of_turn for rollout in rollouts)


def test_a_broken_environment_is_a_row_of_its_kind_and_leaves_the_others_alone(policy, renderer, environment):
    whole = roll_out(policy.model, renderer, episodes(environment, 6), LIMITS, SAMPLED)
    broken = episodes(environment, 6)
    broken[2] = Spy(broken[2], breaks=True)
    rollouts = roll_out(policy.model, renderer, broken, LIMITS, SAMPLED)
    assert rollouts[2].finish is Finish.INFRA_ERROR
    assert rollouts[2].error == "ConnectionError: the tool server is gone"
    assert rollouts[:2] + rollouts[3:] == whole[:2] + whole[3:]


def test_a_cancelled_run_is_not_a_broken_environment(policy, renderer, environment):
    spy = Spy(episodes(environment, 1)[0])
    spy.act = lambda text: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        roll_out(policy.model, renderer, [spy], LIMITS, GREEDY)


def test_padding_that_is_the_end_of_turn_token_changes_nothing(policy, renderer, environment):
    same = copy.copy(renderer)
    same.pad = renderer.end_of_turn
    expected = roll_out(policy.model, renderer, episodes(environment, 12), LIMITS, SAMPLED)
    rollouts = roll_out(policy.model, same, episodes(environment, 12), LIMITS, SAMPLED)
    assert [r.completion_ids for r in rollouts] == [r.completion_ids for r in expected]
    assert all(rollout.tokens[-1].id == renderer.end_of_turn for rollout in rollouts)


def test_nothing_to_do_is_nothing_done(policy, renderer):
    assert roll_out(policy.model, renderer, [], LIMITS, GREEDY) == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limits=st.builds(Limits, st.integers(1, 4), st.integers(1, 45), st.integers(2, 120)),
    seed=st.integers(0, 99),
)
def test_whatever_the_limits_they_hold_and_lengths_are_equal(policy, renderer, environment, limits, seed):
    tried = episodes(environment, 6, seed)
    for rollout in roll_out(policy.model, renderer, tried, limits, Sampling(1.0, seed)):
        assert 1 <= len(rollout.tokens) <= limits.max_completion_length
        assert 1 <= rollout.turns <= limits.max_turns
        assert len(rollout.completion_ids) == len(rollout.logprobs) == len(rollout.response_mask)
        assert rollout.finish in {Finish.STOP, Finish.LENGTH, Finish.TOOL_LIMIT}


def test_rows_that_are_decoded_in_portions_are_the_same(policy, renderer, environment):
    whole = roll_out(policy.model, renderer, episodes(environment, 13), LIMITS, SAMPLED)
    parts = roll_out(policy.model, renderer, episodes(environment, 13), LIMITS, SAMPLED, max_rows=5)
    assert [rollout.completion_ids for rollout in parts] == [rollout.completion_ids for rollout in whole]
