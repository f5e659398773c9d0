"""pass@k and pass^k."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.passk import pass_at_k, pass_hat_k

counts = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def test_exact_values():
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    assert pass_at_k(10, 3, 5) == pytest.approx(float(1 - Fraction(21, 252)))
    assert pass_at_k(10, 3, 10) == 1
    assert pass_hat_k(10, 3, 1) == pytest.approx(0.3)
    assert pass_hat_k(10, 3, 2) == pytest.approx(3 / 45)
    assert pass_hat_k(10, 3, 4) == 0


def test_pass_at_one_is_the_share_and_not_any():
    assert pass_at_k(2, 1, 1) == 0.5
    assert pass_at_k(2, 1, 2) == 1.0
    assert pass_hat_k(2, 1, 2) == 0.0


def test_both_are_the_shares_of_all_subsets():
    rollouts = [True, True, False, False, True, False]
    for k in range(1, 7):
        subsets = list(combinations(rollouts, k))
        assert pass_at_k(6, 3, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
        assert pass_hat_k(6, 3, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@given(counts)
def test_bounds_and_order(case):
    n, correct, k = case
    low, share, high = pass_hat_k(n, correct, k), correct / n, pass_at_k(n, correct, k)
    assert 0 <= low <= share + 1e-12
    assert share <= high + 1e-12 <= 1 + 1e-12
    assert high == pytest.approx(1 - pass_hat_k(n, n - correct, k))


@pytest.mark.parametrize(("n", "correct", "k"), [(2, 1, 3), (2, 3, 1), (2, -1, 1), (2, 1, 0), (0, 0, 1)])
def test_counts_that_cannot_be_are_refused(n, correct, k):
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(EvaluationError, match="1 <= k <= n"):
            estimate(n, correct, k)
