"""Rollouts through a server: the same trajectories as the model in this process would give."""

import shutil
import threading
from pathlib import Path

import pytest

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.backends.vllm_engine import SYNC_FOLDER, vllm_engine
from agent_evo_dagster.training.backends.vllm_rollout import roll_out_turns, turn_seed
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings
from agent_evo_dagster.training.backends.vllm_weights import untie
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED, load_policy
from agent_evo_dagster.training.rollout.turns import Turn
from agent_evo_dagster.training.rollout.types import Limits, Sampling
from agent_evo_dagster.training.types import Finish
from tests.agent_evo_dagster.training.backends.fake_vllm import FakeVllm, logprob, serving

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)
SAMPLING = Sampling(1.0, 4)


def settings(url, **changes):
    return VllmSettings(url=url, **{"retries": 0, "request_timeout": 20.0, **changes})


def engine(url, tmp_path, *, updated=False, **changes):
    given = settings(url, **changes)
    return vllm_engine(given, EMBEDDED, tmp_path, seed=0, tick=lambda: None, updated=updated)


@pytest.fixture
def greedy(policy, renderer, environment):
    """The greedy rollouts of the model in this process, and a fake server that says the same turns."""
    tasks = environment.tasks("dev", 8, 1)
    local = LocalEngine(policy.model, policy.tokenizer)
    expected = local.attempt(
        [environment.episode(task) for task in tasks], LIMITS, Sampling(0.0, 0), tick=lambda: None
    )

    def say(context, seed):
        for trajectory in expected:
            whole = [*trajectory.prompt_ids, *trajectory.completion_ids]
            if whole[: len(context)] == context and len(whole) > len(context):
                rest = whole[len(context) :]
                return rest[: rest.index(renderer.end_of_turn) + 1]
        return [renderer.end_of_turn]

    return tasks, expected, FakeVllm(say, root=str(EMBEDDED))


def test_rollouts_of_a_server_have_the_ids_masks_and_ends_of_those_decoded_here(
    greedy, environment, tmp_path
):
    tasks, expected, fake = greedy
    ticks = []
    with serving(fake) as url, engine(url, tmp_path, concurrency=3) as served:
        found = served.attempt(
            [environment.episode(task) for task in tasks], LIMITS, SAMPLING, tick=lambda: ticks.append(1)
        )
    for one, other in zip(found, expected, strict=True):
        assert (one.prompt_ids, one.completion_ids) == (other.prompt_ids, other.completion_ids)
        assert (one.response_mask, one.finish, one.turns) == (other.response_mask, other.finish, other.turns)
        assert one.logprobs == [logprob(token.id) if token.sampled else 0.0 for token in other.tokens]
    assert ticks
    assert fake.most_at_once <= 3


def test_every_turn_has_a_seed_of_its_own_and_the_same_one_next_time(greedy, environment, tmp_path):
    tasks, _, fake = greedy
    seeds = []
    with serving(fake) as url, engine(url, tmp_path) as served:
        for _ in range(2):
            fake.requests.clear()
            served.attempt([environment.episode(task) for task in tasks], LIMITS, SAMPLING, tick=lambda: None)
            seeds.append(sorted(body["seed"] for _, body, _ in fake.requests))
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == len(seeds[0]) > len(tasks)
    assert turn_seed(1, 0, 0) != turn_seed(0, 1, 0) != turn_seed(0, 0, 1)


def test_a_failing_server_ends_all_rollouts_with_its_reason(greedy, environment, tmp_path):
    tasks, _, fake = greedy
    with serving(fake) as url, engine(url, tmp_path, concurrency=2) as served:
        fake.faults = [(500, {"error": "engine is dead"}, {})] * 50
        with pytest.raises(InferenceError, match="engine is dead"):
            served.attempt([environment.episode(task) for task in tasks], LIMITS, SAMPLING, tick=lambda: None)


def test_a_broken_environment_is_a_row_while_the_others_go_on(greedy, environment, renderer, tmp_path):
    tasks, expected, fake = greedy
    episodes = [environment.episode(task) for task in tasks]

    def broken(text):
        raise OSError("the tool's machine is gone")

    episodes[2].act = broken
    with serving(fake) as url, engine(url, tmp_path) as served:
        found = served.attempt(episodes, LIMITS, SAMPLING, tick=lambda: None)
    assert [row.finish for row in found].count(Finish.INFRA_ERROR) == 1
    assert found[2].error == "OSError: the tool's machine is gone"
    assert found[3].completion_ids == expected[3].completion_ids


def test_no_tick_comes_from_a_server_that_is_silent(renderer, environment):
    """A hung server must look hung to whoever watches the heartbeat."""
    ticks, released = [], threading.Event()

    def sample(request, temperature, seed):
        released.wait(2.5)
        return Turn((renderer.end_of_turn,), (-0.1,))

    episodes = [environment.episode(task) for task in environment.tasks("dev", 1, 0)]
    roll_out_turns(sample, renderer, episodes, LIMITS, SAMPLING, concurrency=1, tick=lambda: ticks.append(1))
    assert len(ticks) == 1


def test_a_server_with_another_policy_is_refused(greedy, tmp_path):
    fake = greedy[2]
    fake.root = "/elsewhere/base"
    with (
        serving(fake) as url,
        pytest.raises(InferenceError, match=r"serves '/elsewhere/base'; the job needs .*embedded"),
    ):
        engine(url, tmp_path).__enter__()


def test_a_server_with_a_copy_of_the_policy_is_as_good(greedy, tmp_path):
    fake = greedy[2]
    fake.root = str(shutil.copytree(EMBEDDED, tmp_path / "copy"))
    with serving(fake) as url, engine(url, tmp_path):
        assert not fake.loaded


def test_a_policy_that_changes_needs_leave_to_reload(greedy, policy, tmp_path):
    fake = greedy[2]
    with serving(fake) as url, engine(url, tmp_path) as served:
        with pytest.raises(InferenceError, match=r"may not be told to load other weights.*vllm\.reload"):
            served.update(policy.model)
        assert not fake.loaded


def scored_by(model):
    """What a server says of its samples that holds the weights of `model`."""
    import torch

    def score(prompt, ids):
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1]
        return torch.log_softmax(logits, -1).gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()

    return score


def test_the_weights_of_a_training_step_reach_the_server(greedy, policy, tmp_path):
    fake = greedy[2]
    fake.root = "/elsewhere/base"
    fake.score = scored_by(policy.model)
    with serving(fake) as url, engine(url, tmp_path, reload=True, dtype="float32", updated=True) as served:
        served.update(policy.model)
        assert fake.loaded == [str(tmp_path / SYNC_FOLDER)]
        assert (tmp_path / SYNC_FOLDER / "model.safetensors").is_file()
    assert not (tmp_path / SYNC_FOLDER).exists()


def test_a_server_that_keeps_its_old_weights_after_a_reload_is_found_out(greedy, policy, tmp_path, torch):
    fake = greedy[2]
    fake.score = scored_by(policy.model)
    changed = load_policy(None).model
    with torch.no_grad():
        changed.model.embed_tokens.weight.mul_(1.1)
    with (
        serving(fake) as url,
        engine(url, tmp_path, reload=True, dtype="float32", updated=True) as served,
        pytest.raises(InferenceError, match=r"does not answer with the weights that it was given.*off by"),
    ):
        served.update(changed)


def test_a_shared_output_layer_becomes_one_of_its_own_with_the_same_policy(policy, tmp_path, torch):
    folder = Path(shutil.copytree(EMBEDDED, tmp_path / "copy"))
    untie(folder)
    apart = load_policy(folder).model
    assert not apart.config.tie_word_embeddings
    assert apart.lm_head.weight.data_ptr() != apart.model.embed_tokens.weight.data_ptr()
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        assert torch.equal(apart(input_ids=ids).logits, policy.model(input_ids=ids).logits)
    before = sha256_tree(folder)
    untie(folder)
    assert sha256_tree(folder) == before


def test_a_key_that_is_not_set_is_named(greedy, tmp_path, monkeypatch):
    monkeypatch.delenv("POLICY_KEY", raising=False)
    with pytest.raises(InferenceError, match="POLICY_KEY, which is not set"):
        engine("http://127.0.0.1:9", tmp_path, api_key_env="POLICY_KEY").__enter__()
