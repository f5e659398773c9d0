"""The agent loop as verl calls it, with verl's own classes replaced by the few fields that are used."""

import asyncio
import sys
import types
from types import SimpleNamespace

import pytest
import yaml

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends import verl_agent_loop
from agent_evo_dagster.training.backends.verl_agent_loop import AgentEvoLoop
from agent_evo_dagster.training.backends.verl_files import LOOP_CLASS, agent_loop_document
from agent_evo_dagster.training.backends.verl_overrides import VerlFiles
from agent_evo_dagster.training.backends.verl_reward import compute_score
from agent_evo_dagster.training.backends.verl_rows import read_rows
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.environment_choice import environment_of, rollout_limits
from agent_evo_dagster.training.rollout.types import Sampling

CONFIG = TrainingConfig()


@pytest.fixture
def verl(monkeypatch):
    """verl's module with the two classes that the loop makes instances of."""
    module = types.ModuleType("verl.experimental.agent_loop.agent_loop")
    module.AgentLoopMetrics = lambda: "metrics"
    module.AgentLoopOutput = SimpleNamespace
    for name in ("verl", "verl.experimental", "verl.experimental.agent_loop"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


class Server:
    """Says the turns of known rollouts, as verl's engine would."""

    def __init__(self, known, end_of_turn, **changes):
        self.known, self.end_of_turn, self.changes, self.asked = known, end_of_turn, changes, []

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        self.asked.append((request_id, sampling_params))
        for trajectory in self.known:
            whole = [*trajectory.prompt_ids, *trajectory.completion_ids]
            if whole[: len(prompt_ids)] == prompt_ids and len(whole) > len(prompt_ids):
                rest = whole[len(prompt_ids) :]
                ids = rest[: rest.index(self.end_of_turn) + 1]
                found = {"token_ids": ids, "log_probs": [-0.25] * len(ids)}
                return SimpleNamespace(**{**found, "extra_fields": {"min_global_steps": 4}, **self.changes})
        raise AssertionError("asked for what nobody said")


@pytest.fixture
def known(policy, renderer):
    environment = environment_of(CONFIG, renderer.chat_template)
    tasks = environment.tasks("train", 6, 0)
    engine = LocalEngine(policy.model, policy.tokenizer)
    episodes = [environment.episode(task) for task in tasks]
    found = engine.attempt(episodes, rollout_limits(CONFIG), Sampling(0.0, 0), tick=lambda: None)
    return tasks, episodes, found


def loop(server, policy, tmp_path):
    files = VerlFiles(tmp_path)
    files.config.write_text(CONFIG.model_dump_json())
    return AgentEvoLoop(
        str(files.config), str(files.rows), server, policy.tokenizer, processor=None, trainer_config=None
    )


def sample(task, session=0):
    extra = {"index": 0, "task_id": task.task_id, "split": "train"}
    return {"extra_info": extra, "uid": "u7", "session_id": session, "global_steps": 5, "raw_prompt": []}


def test_a_rollout_of_verl_is_the_one_that_is_made_here(verl, known, policy, renderer, tmp_path):
    tasks, episodes, expected = known
    server = Server(expected, renderer.end_of_turn)
    for number, (task, episode, trajectory) in enumerate(zip(tasks, episodes, expected, strict=True)):
        output = asyncio.run(loop(server, policy, tmp_path).run({"temperature": 0.7}, **sample(task, number)))
        assert output.prompt_ids == list(trajectory.prompt_ids)
        assert output.response_ids == trajectory.completion_ids
        assert output.response_mask == trajectory.response_mask
        assert output.response_logprobs == [-0.25 * mask for mask in trajectory.response_mask]
        assert output.reward_score == episode.score().reward
        assert output.extra_fields["reward_extra_info"]["acc"] == float(episode.score().correct)
    params = server.asked[0][1]
    assert (params["temperature"], params["logprobs"], params["max_tokens"]) == (0.7, True, 40)
    assert params["stop_token_ids"] == [renderer.end_of_turn]


def test_what_was_rolled_out_is_kept_token_by_token_under_verls_key(verl, known, policy, renderer, tmp_path):
    tasks, _, expected = known
    server = Server(expected, renderer.end_of_turn)
    asyncio.run(loop(server, policy, tmp_path).run({}, **sample(tasks[0], session=3)))
    row = read_rows(tmp_path / "rows")["u7_3_0"]
    assert list(row.completion_ids) == expected[0].completion_ids
    assert list(row.response_mask) == expected[0].response_mask
    assert (row.step, row.policy_version, row.split) == (5, 4, "train")
    assert row.task_id == tasks[0].task_id
    assert sum(row.components.values()) == pytest.approx(row.reward)


@pytest.mark.usefixtures("verl")
def test_a_failed_environment_gives_no_rollout_at_all(known, policy, renderer, tmp_path, monkeypatch):
    tasks, _, expected = known

    class Broken:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def episode(self, task):
            episode = self.inner.episode(task)

            def act(text):
                raise OSError("the tool's machine is gone")

            episode.act = act
            return episode

    monkeypatch.setattr(verl_agent_loop, "environment_of", lambda *given: Broken(environment_of(*given)))
    server = Server(expected, renderer.end_of_turn)
    with pytest.raises(TrainingError, match="the tool's machine is gone"):
        asyncio.run(loop(server, policy, tmp_path).run({}, **sample(tasks[0])))
    assert not (tmp_path / "rows").exists()


def test_an_engine_without_log_probabilities_is_refused(verl, known, policy, renderer, tmp_path):
    tasks, _, expected = known
    server = Server(expected, renderer.end_of_turn, log_probs=None)
    with pytest.raises(TrainingError, match=r"rollout\.calculate_log_probs"):
        asyncio.run(loop(server, policy, tmp_path).run({}, **sample(tasks[0])))


def test_the_file_of_agent_loops_names_a_class_that_is_there(tmp_path):
    (entry,) = yaml.safe_load(agent_loop_document(VerlFiles(tmp_path)))
    assert entry["_target_"] == LOOP_CLASS == f"{AgentEvoLoop.__module__}.{AgentEvoLoop.__qualname__}"
    assert entry["name"] == "agent_evo"


def test_verl_is_never_given_a_reward_from_text():
    with pytest.raises(TrainingError, match="scored by their environment"):
        compute_score("arithmetic", "4", "4", extra_info={})
