"""pass@k and pass^k from the counts of a task's rollouts. No rollouts, no intervals."""

import math

from agent_evo_dagster.errors import EvaluationError


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Chance that at least one of `k` rollouts is right, estimated without bias from `correct` of `n`.

    1 - C(n - correct, k) / C(n, k): the share of the k-subsets of the rollouts that hold a right one. It is
    not "any of the n was right", which is pass@n only, and too high for each smaller k.

    Raises:
        EvaluationError: fewer than k rollouts, or counts that cannot be.
    """
    _check(n, correct, k)
    return 1 - math.comb(n - correct, k) / math.comb(n, k)


def pass_hat_k(n: int, correct: int, k: int) -> float:
    """Chance that all of `k` rollouts are right (pass^k), estimated without bias from `correct` of `n`.

    C(correct, k) / C(n, k): how reliable the policy is, where pass@k says how lucky it can be.

    Raises:
        EvaluationError: fewer than k rollouts, or counts that cannot be.
    """
    _check(n, correct, k)
    return math.comb(correct, k) / math.comb(n, k)


def _check(n: int, correct: int, k: int) -> None:
    if not 0 <= correct <= n or not 1 <= k <= n:
        raise EvaluationError(
            f"pass@k needs 1 <= k <= n and 0 <= correct <= n; asked for k={k} with {correct} right of {n}. "
            f"Sample at least k rollouts of each task."
        )
