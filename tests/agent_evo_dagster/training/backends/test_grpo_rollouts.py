import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.training.backends.grpo_rollouts import batch_seed, reward_function

PARTS = {"correct": 0.8, "finished": 0.1, "tool_used": 0.08, "protocol": 0.02, "malformed": -0.03}


def test_a_reward_function_is_named_for_its_component():
    assert reward_function("correct").__name__ == "correct"
    assert reward_function("correct")(components=[PARTS], prompts=["x"]) == [pytest.approx(0.8, abs=1e-5)]


def test_a_rollout_without_a_score_has_no_reward():
    assert reward_function("correct")(components=[None, PARTS])[0] is None


@given(
    st.lists(st.sampled_from(sorted(PARTS)), max_size=5),
    st.integers(0, 5),
    st.integers(2, 256),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_rewards_of_a_group_have_exactly_their_mean_in_fp32(torch, earned, faults, size):
    score = {name: PARTS[name] * (name in earned) for name in PARTS} | {"malformed": -0.03 * faults}
    columns = [reward_function(name)(components=[score] * size) for name in PARTS]
    rewards = torch.tensor(columns, dtype=torch.float32).T.nansum(dim=1)
    assert (rewards == rewards.view(1, -1).nanmean(dim=1)).all()


def test_every_batch_of_every_run_has_a_seed_of_its_own():
    seeds = {batch_seed(seed, version) for seed in range(20) for version in range(20)}
    assert len(seeds) == 400
    assert batch_seed(0, 0) == batch_seed(0, 0)
    assert max(seeds) < 2**63
