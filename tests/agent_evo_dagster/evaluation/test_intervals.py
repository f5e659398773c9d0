"""Intervals of means, proportions and paired differences."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.intervals import (
    Interval,
    change_interval,
    crossed_bootstrap,
    mean_interval,
    paired_bootstrap,
    wilson,
)

scores = st.floats(-1, 1, allow_nan=False)
pairs = st.lists(st.tuples(scores, scores), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(st.lists(scores, min_size=1, max_size=40))
def test_interval_contains_the_mean(values):
    interval = mean_interval(values, resamples=200)
    assert interval.low <= interval.mean <= interval.high
    assert interval.mean == pytest.approx(math.fsum(values) / len(values))


@settings(max_examples=50, deadline=None)
@given(pairs, st.integers(0, 5))
def test_swapping_the_sides_mirrors_the_interval_exactly(rows, seed):
    before, after = zip(*rows, strict=True)
    there = paired_bootstrap(before, after, seed=seed, resamples=200)
    back = paired_bootstrap(after, before, seed=seed, resamples=200)
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)


@settings(max_examples=20, deadline=None)
@given(pairs)
def test_the_same_scores_give_the_same_interval(rows):
    before, after = zip(*rows, strict=True)
    assert paired_bootstrap(before, after, resamples=200) == paired_bootstrap(before, after, resamples=200)


def test_coverage_is_near_the_nominal_one():
    rng = random.Random(7)
    hits = 0
    for trial in range(300):
        interval = mean_interval([rng.gauss(0.3, 1) for _ in range(30)], seed=trial, resamples=400)
        hits += interval.low <= 0.3 <= interval.high
    assert 0.91 <= hits / 300 <= 0.99


def test_equal_scores_have_an_interval_of_no_width():
    assert paired_bootstrap([0.1] * 20, [0.3] * 20).low == pytest.approx(0.2)
    assert paired_bootstrap([0.5] * 20, [0.5] * 20).high == 0


def test_runs_that_disagree_widen_the_interval():
    agree = crossed_bootstrap([[0.1] * 40, [0.1] * 40])
    disagree = crossed_bootstrap([[-0.1] * 40, [0.3] * 40])
    assert agree.low == pytest.approx(0.1)
    assert disagree.mean == pytest.approx(agree.mean)
    assert disagree.low < 0


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "at least one value"),
        ([[]], "at least one value"),
        ([[1.0], [1.0, 2.0]], "same tasks"),
        ([[1.0, math.nan]], "1 are NaN"),
        ([[math.inf, 1.0]], "must be finite"),
    ],
)
def test_scores_that_cannot_be_averaged_are_refused(table, said):
    with pytest.raises(EvaluationError, match=said):
        crossed_bootstrap(table)


def test_unequal_sides_are_refused():
    with pytest.raises(EvaluationError, match="2 and 1"):
        paired_bootstrap([0.1, 0.2], [0.1])


def test_too_few_resamples_for_the_confidence_are_refused():
    with pytest.raises(EvaluationError, match="resamples"):
        mean_interval([0.1], resamples=10)


def test_wilson_agrees_with_published_values():
    # Newcombe 1998, table I: 81 of 263, and 0 of 20.
    interval = wilson(81, 263)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)
    interval = wilson(0, 20)
    assert (interval.low, round(interval.high, 4)) == (0.0, 0.1611)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_stays_within_bounds_and_holds_the_share(n, share):
    interval = wilson(share * n, n)
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    assert interval.low < interval.high


def test_wilson_refuses_counts_that_cannot_be():
    for successes, n in ((1, 0), (-1, 3), (4, 3)):
        with pytest.raises(EvaluationError):
            wilson(successes, n)


@settings(max_examples=30)
@given(st.lists(scores, min_size=1, max_size=6))
def test_an_interval_of_changes_holds_their_mean_and_lies_where_changes_can(changes):
    found = change_interval(changes)
    assert -1 <= found.low <= found.mean + 1e-12 and found.mean - 1e-12 <= found.high <= 1
    assert found.n == len(changes)


def test_few_changes_that_all_go_one_way_have_wilsons_interval():
    assert change_interval([1.0, 1.0]).low == wilson(2, 2).low > 0
    assert change_interval([-1.0, 0.0]) == Interval(-0.5, -wilson(1, 2).high, -wilson(1, 2).low, 2)
    assert change_interval([0.0] * 3).low == 0.0 < change_interval([0.0] * 3).high
