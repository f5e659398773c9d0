import os

import pytest

from agent_evo_dagster.training.process_environment import prepare


@pytest.fixture(scope="session")
def torch():
    saved = dict(os.environ)
    prepare(threads=1)
    module = pytest.importorskip("torch", reason="the extra hf is not installed")
    pytest.importorskip("transformers", reason="the extra hf is not installed")
    os.environ.clear()
    os.environ.update(saved)
    return module


@pytest.fixture(scope="session")
def policy(torch):
    """The embedded policy. Tests must not change its weights."""
    from agent_evo_dagster.training.policy.checkpoints import load_policy

    return load_policy(None)


@pytest.fixture(scope="session")
def renderer(policy):
    from agent_evo_dagster.training.rollout.render import ChatRenderer

    return ChatRenderer(policy.tokenizer)


@pytest.fixture(scope="session")
def environment():
    from agent_evo_dagster.training.environments.arithmetic import ArithmeticEnvironment
    from agent_evo_dagster.training.tool_calls.hermes import HermesFormat

    return ArithmeticEnvironment(HermesFormat())
