"""Tasks that got worse beyond noise."""

import math
import random
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.regressions import lower_p_value, regressed_tasks, rollouts_needed


def arms(share_before, share_after, n):
    return [1.0] * round(share_before * n) + [0.0] * round((1 - share_before) * n), [1.0] * round(
        share_after * n
    ) + [0.0] * round((1 - share_after) * n)


def test_a_drop_from_091_to_082_is_named_when_the_rollouts_can_tell():
    before, after = arms(0.91, 0.82, 1000)
    steady = {f"steady-{index}": [0.0, 1.0] * 500 for index in range(30)}
    named = regressed_tasks({**steady, "dropped": before}, {**steady, "dropped": after})
    assert list(named) == ["dropped"]


def test_the_same_drop_in_a_hundred_rollouts_of_one_task_among_many_is_noise():
    before, after = arms(0.91, 0.82, 100)
    steady = {f"steady-{index}": [0.0, 1.0] * 50 for index in range(30)}
    assert regressed_tasks({**steady, "dropped": before}, {**steady, "dropped": after}) == {}


def test_scores_without_noise_are_told_apart():
    steady = {f"steady-{index}": [0.9] * 8 for index in range(30)}
    named = regressed_tasks({**steady, "dropped": [0.91] * 8}, {**steady, "dropped": [0.82] * 8})
    assert list(named) == ["dropped"]


def test_right_or_wrong_scores_give_the_exact_test_of_fisher():
    before, after = [1.0] * 7 + [0.0], [1.0] * 2 + [0.0] * 6
    tail = sum(math.comb(9, k) * math.comb(7, 8 - k) for k in range(3)) / math.comb(16, 8)
    assert lower_p_value(before, after) == pytest.approx(tail)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=4),
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=4),
)
def test_p_value_is_the_share_of_relabellings(before, after):
    pooled = [*after, *before]
    ranks = [sum(2 * (x < value) + (x == value) for x in pooled) + 1 for value in pooled]
    sums = [sum(pick) for pick in combinations(ranks, len(after))]
    expected = sum(total <= sum(ranks[: len(after)]) for total in sums) / len(sums)
    assert lower_p_value(before, after) == pytest.approx(1.0 if fmean(after) >= fmean(before) else expected)


def test_the_curve_meets_the_exact_count_where_it_takes_over():
    rng = random.Random(3)
    before = [float(rng.random() < 0.8) for _ in range(20)]
    after = [float(rng.random() < 0.5) for _ in range(20)]
    exact = lower_p_value(before, after)
    curve = lower_p_value([*before, 1.0, 0.0], [*after, 1.0, 0.0])
    assert curve == pytest.approx(exact, rel=0.35)


def test_noise_alone_names_a_task_in_about_one_of_twenty_comparisons_at_most():
    rng = random.Random(11)
    false_alarms = 0
    for _ in range(200):
        sides = [
            {f"t{index}": [float(rng.random() < 0.6) for _ in range(8)] for index in range(20)}
            for _ in range(2)
        ]
        false_alarms += bool(regressed_tasks(*sides))
    assert false_alarms / 200 <= 0.08


@pytest.mark.parametrize("tasks", [1, 10, 40, 200, 1000])
def test_rollouts_needed_is_where_a_total_loss_becomes_visible(tasks):
    n = rollouts_needed(tasks)
    for size, seen in ((n, True), (n - 1, False)):
        if size:
            steady = {f"s{index}": [1.0] * size for index in range(tasks - 1)}
            before, after = {**steady, "lost": [1.0] * size}, {**steady, "lost": [0.0] * size}
            assert bool(regressed_tasks(before, after)) is seen


def test_different_tasks_are_refused():
    with pytest.raises(EvaluationError, match="'b'"):
        regressed_tasks({"a": [1.0]}, {"a": [1.0], "b": [1.0]})
    with pytest.raises(EvaluationError, match="rollouts on both sides"):
        lower_p_value([], [1.0])
