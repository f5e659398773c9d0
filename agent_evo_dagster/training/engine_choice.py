"""Which engine a job samples with, as its deployment says: the model in this process, or a server."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_evo_dagster.training.backends.vllm_engine import vllm_engine
from agent_evo_dagster.training.engines import Engine, LocalEngine
from agent_evo_dagster.training.policy.checkpoints import Policy, load_policy, require_checkpoint
from agent_evo_dagster.training.request import WorkerRequest
from agent_evo_dagster.training.rollout.types import Tick


@contextmanager
def training_engine(request: WorkerRequest, policy: Policy, tick: Tick) -> Iterator[Engine]:
    """An engine for a policy that is being trained in this process; it starts with the initial weights."""
    if request.deployment.inference == "local":
        yield LocalEngine(policy.model, policy.tokenizer)
        return
    folder = require_checkpoint(request.init_checkpoint)
    with vllm_engine(
        request.deployment.vllm, folder, request.run_dir, seed=request.config.seed, tick=tick, updated=True
    ) as engine:
        yield engine


def evaluation_engines(
    request: WorkerRequest, folders: Sequence[Path | None], tick: Tick
) -> Generator[Engine, None, None]:
    """Engines for the policies in `folders`, one after the other.

    An engine holds until the next is asked for. Close the iterator: a server may be behind it.
    """
    if request.deployment.inference == "local":
        for folder in folders:
            policy = load_policy(folder)
            yield LocalEngine(policy.model, policy.tokenizer)
        return
    seed = request.evaluation.seed if request.evaluation else 0
    for folder in folders:  # a server each: what was loaded at its start is sure to be what answers
        path = require_checkpoint(folder)
        with vllm_engine(request.deployment.vllm, path, request.run_dir, seed=seed, tick=tick) as engine:
            yield engine
