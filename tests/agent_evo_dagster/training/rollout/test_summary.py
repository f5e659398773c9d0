import polars as pl
import pytest

from agent_evo_dagster.training.environments.types import ToolUse
from agent_evo_dagster.training.rollout.summary import summary, tool_faults
from agent_evo_dagster.training.types import ROLLOUT_SCHEMA


def frame(groups):
    """Rows of groups given as lists of True, False, or None for a rollout without a score."""
    rows = [
        {
            "group": group,
            "finish": "infra_error" if solved is None else "stop",
            "correct": solved,
            "reward": None if solved is None else float(solved),
            "prompt_ids": [1, 2],
            "response_mask": [1, 1, 0],
            "turns": 2,
            "tool_calls": 1,
            "tool_errors": 0,
        }
        for group, results in enumerate(groups)
        for solved in results
    ]
    missing = {name: None for name in ROLLOUT_SCHEMA if name not in rows[0]}
    return pl.DataFrame([{**missing, **row} for row in rows], schema=ROLLOUT_SCHEMA)


def test_pass_at_k_and_pass_hat_k_are_unbiased_and_under_their_own_names():
    found = summary(frame([[True, True, False, False], [False] * 4]))
    assert found["rollout/accuracy"] == 0.25
    assert found["rollout/pass_at_2"] == pytest.approx((1 - 1 / 6) / 2)
    assert found["rollout/pass_hat_2"] == pytest.approx(1 / 6 / 2)
    assert found["rollout/pass_at_4"] == 0.5
    assert found["rollout/pass_hat_4"] == 0


def test_rows_without_a_score_count_in_no_mean():
    found = summary(frame([[True, None], [True, True]]))
    assert found["rollout/accuracy"] == 1
    assert found["rollout/pass_at_2"] == 1  # of the one group that has two rows
    assert found["rollout/finish_infra_error"] == 0.25


def test_groups_of_equal_rewards_are_a_share_of_those_with_a_score():
    assert summary(frame([[True, True], [True, False], [None, None]]))["rollout/zero_variance"] == 0.5


def test_lengths_are_of_sampled_tokens():
    found = summary(frame([[True, False]]))
    assert (found["rollout/tokens_sampled"], found["rollout/tokens_longest"]) == (2, 2)
    assert found["rollout/tokens_prompt"] == 2


def test_errors_are_counted_by_kind_and_recovered_calls_apart():
    uses = [ToolUse(2, 1, {"malformed": 1}, recovered=1), ToolUse(0, 3, {"malformed": 1, "refused": 2})]
    assert tool_faults(uses) == {
        "rollout/tool_error_malformed": 1.0,
        "rollout/tool_error_refused": 1.0,
        "rollout/tool_recovered": 0.5,
    }
    assert tool_faults([]) == {"rollout/tool_recovered": 0.0}
