import polars as pl
import pytest

from agent_evo_dagster.training.rollout.engine import roll_out
from agent_evo_dagster.training.rollout.frames import Origin, rollout_frame, scored
from agent_evo_dagster.training.rollout.summary import summary
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Token, Trajectory
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA, Finish


@pytest.fixture
def rollouts(policy, renderer, environment):
    tasks = environment.tasks("train", 4, 0)
    episodes = [environment.episode(task) for task in tasks for _ in range(2)]
    found = roll_out(policy.model, renderer, episodes, Limits(3, 40, 96), Sampling(1.0, 0))
    return [scored(*pair) for pair in zip(episodes, found, strict=True)]


def test_rows_have_the_schema_and_equal_lengths(rollouts, renderer):
    frame = rollout_frame(rollouts, Origin(3, 40, 2, 2), renderer)
    assert frame.schema == ROLLOUT_SCHEMA
    assert frame["group"].to_list() == [40, 40, 41, 41, 42, 42, 43, 43]
    assert set(frame["step"]) == {3}
    assert set(frame["policy_version"]) == {2}
    lengths = [frame[name].list.len() for name in ("completion_ids", "logprobs", "response_mask")]
    assert lengths[0].equals(lengths[1])
    assert lengths[0].equals(lengths[2])


def test_the_text_is_for_people_and_has_the_control_tokens(rollouts, renderer):
    frame = rollout_frame(rollouts, Origin(1, 0, 2, 0), renderer)
    assert frame["text"].str.starts_with("<tool_call>").all()


def test_a_failed_environment_has_neither_reward_nor_verdict(environment, renderer):
    episode = environment.episode(environment.task("plus-27-45"))
    failed = Trajectory((1, 2), (Token(3, -0.5, sampled=True),), Finish.INFRA_ERROR, 1, "gone")
    frame = rollout_frame([scored(episode, failed)], Origin(1, 0, 1, 0), renderer)
    assert frame.select("reward", "correct", "finish").row(0) == (None, None, "infra_error")
    assert summary(frame)["rollout/accuracy"] is None
    assert summary(frame)["rollout/finish_infra_error"] == 1


def test_the_summary_is_means_of_the_rows(rollouts, renderer):
    frame = rollout_frame(rollouts, Origin(1, 0, 2, 0), renderer)
    means = summary(frame)
    assert means["rollout/accuracy"] == frame["correct"].cast(pl.Float64).mean()
    assert sum(means[f"rollout/finish_{finish}"] for finish in Finish) == pytest.approx(1)
