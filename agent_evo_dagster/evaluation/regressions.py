"""Which single tasks got worse beyond noise. Not whether the whole got better.

Each task is tested on its own, by an exact one-sided rank-sum test of its candidate rollouts against its
baseline rollouts (for right-or-wrong scores that is Fisher's exact test), and Holm's step-down procedure
keeps the chance of naming any task wrongly, over all of them, at `ALPHA`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist, fmean

from agent_evo_dagster.errors import EvaluationError

ALPHA = 0.05

# Above this many rollouts of one task, both sides together, the exact count gives way to the normal curve.
_EXACT_UP_TO = 40


def rollouts_needed(tasks: int, *, alpha: float = ALPHA) -> int:
    """Rollouts of each task and side below which no regression, however complete, could be told from noise.

    The smallest p-value that n against n rollouts can give is 1 / C(2n, n), and Holm compares it with
    alpha / tasks: 5 rollouts for 10 tasks, 6 for 40, 7 for 100, 8 for 500.
    """
    n = 1
    while math.comb(2 * n, n) * alpha < tasks:
        n += 1
    return n


def regressed_tasks(
    baseline: Mapping[str, Sequence[float]], candidate: Mapping[str, Sequence[float]], *, alpha: float = ALPHA
) -> dict[str, float]:
    """Tasks whose candidate scores are lower beyond noise, with Holm's adjusted p-value, worst first.

    Raises:
        EvaluationError: the two sides do not hold the same tasks.
    """
    if baseline.keys() != candidate.keys():
        odd = sorted(baseline.keys() ^ candidate.keys())
        raise EvaluationError(f"Both sides need the same tasks; only one has {odd[:5]}. Score them on both.")
    values = {task: lower_p_value(baseline[task], candidate[task]) for task in baseline}
    ranked = sorted(values.items(), key=lambda item: (item[1], item[0]))
    named: dict[str, float] = {}
    adjusted = 0.0
    for index, (task, p_value) in enumerate(ranked):
        adjusted = max(adjusted, min(1.0, p_value * (len(ranked) - index)))
        if adjusted > alpha:
            break
        named[task] = adjusted
    return named


def lower_p_value(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Chance that the candidate's ranks are this low or lower if both sides came from one distribution.

    1 where the candidate's mean is not lower: ranks alone would call few high scores against many middling
    ones a loss.
    """
    if not baseline or not candidate:
        raise EvaluationError("A task needs rollouts on both sides; one side has none. Score it on both.")
    if fmean(candidate) >= fmean(baseline):
        return 1.0
    ranks = _doubled_midranks([*candidate, *baseline])
    observed = sum(ranks[: len(candidate)])
    if len(ranks) > _EXACT_UP_TO:
        return _normal_tail(ranks, len(candidate), observed)
    counts = _rank_sums(tuple(sorted(ranks)), len(candidate))
    return sum(count for total, count in counts.items() if total <= observed) / math.comb(
        len(ranks), len(candidate)
    )


def _doubled_midranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, ties sharing the middle one: whole numbers."""
    counts = Counter(values)
    below, ranks = 0, {}
    for value in sorted(counts):
        ranks[value] = 2 * below + counts[value] + 1
        below += counts[value]
    return [ranks[value] for value in values]


@lru_cache(maxsize=4096)
def _rank_sums(ranks: tuple[int, ...], size: int) -> Counter[int]:
    """How many subsets of `size` ranks have each sum."""
    tables: list[Counter[int]] = [Counter() for _ in range(size + 1)]
    tables[0][0] = 1
    for rank in ranks:
        for taken in range(size, 0, -1):
            for total, count in tables[taken - 1].items():
                tables[taken][total + rank] += count
    return tables[size]


def _normal_tail(ranks: Sequence[int], size: int, observed: int) -> float:
    """The normal approximation with continuity correction; its variance is of the ranks as they are tied."""
    total, mean = len(ranks), fmean(ranks)
    spread = math.fsum((rank - mean) ** 2 for rank in ranks) / (total - 1)
    deviation = math.sqrt(size * (total - size) / total * spread)
    return NormalDist().cdf((observed + 1 - size * mean) / deviation)
