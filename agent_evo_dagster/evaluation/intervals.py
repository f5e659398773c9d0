"""Intervals of means, proportions and paired differences. No frames, no verdicts.

Everything is seeded and in plain Python: the same numbers give the same interval, to the last bit, on any
machine. The bootstrap is the percentile kind, its deviations widened by sqrt(n / (n - 1)), since resampling
n values underestimates the spread of their mean by that factor.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from agent_evo_dagster.errors import EvaluationError

RESAMPLES = 2000
CONFIDENCE = 0.95
FEW = 20  # pairs; with fewer, a bootstrap's interval is too narrow to be believed


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds that it is known to, and the number of units behind it."""

    mean: float
    low: float
    high: float
    n: int


def mean_interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = CONFIDENCE
) -> Interval:
    """Bootstrap interval of the mean of `values`, each one independent unit (one task, not one rollout)."""
    return crossed_bootstrap([values], seed=seed, resamples=resamples, confidence=confidence)


def paired_bootstrap(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Bootstrap interval of the mean of candidate minus baseline, paired by position.

    Raises:
        EvaluationError: the two differ in length, are empty, or hold a value that is not finite.
    """
    if len(baseline) != len(candidate):
        raise EvaluationError(
            f"A paired comparison needs one candidate score for each baseline score; there are "
            f"{len(baseline)} and {len(candidate)}. Score both on the same tasks."
        )
    differences = [after - before for before, after in zip(baseline, candidate, strict=True)]
    return crossed_bootstrap([differences], seed=seed, resamples=resamples, confidence=confidence)


def change_interval(changes: Sequence[float]) -> Interval:
    """Interval of the mean of paired changes, each from -1 to 1; its width is 0 only where n has no end.

    Bootstrap over pairs; Wilson's interval where few pairs, or equal ones, all go one way.

    Raises:
        EvaluationError: there are none, or one is not finite.
    """
    sign = 0 if not changes else 1 if min(changes) >= 0 else -1 if max(changes) <= 0 else 0
    if sign and (len(changes) < FEW or len(set(changes)) == 1):
        bound = wilson(min(float(len(changes)), abs(sum(changes))), len(changes))
        low, high = sorted((sign * bound.low, sign * bound.high))
        return Interval(sign * bound.mean, low, high, len(changes))
    found = mean_interval(changes)  # widened, and so perhaps beyond what a mean of changes can be
    return Interval(found.mean, max(-1.0, found.low), min(1.0, found.high), found.n)


def crossed_bootstrap(
    table: Sequence[Sequence[float]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Bootstrap interval of the mean of a table whose rows are runs and whose columns are tasks.

    Both ways are resampled: an effect that one training seed shows and another does not is not a sure one.
    With one row it is the ordinary bootstrap over tasks.

    Raises:
        EvaluationError: the table is empty or ragged, or holds a value that is not finite.
    """
    _check(table, resamples, confidence)
    rows, columns = len(table), len(table[0])
    mean = math.fsum(map(math.fsum, table)) / (rows * columns)
    means = _resampled_means(table, random.Random(seed), resamples)
    cut = int((1 - confidence) / 2 * resamples)
    widen = math.sqrt(columns / (columns - 1)) if columns > 1 else 1.0
    low, high = means[cut], means[resamples - 1 - cut]
    return Interval(
        mean, min(mean, mean + widen * (low - mean)), max(mean, mean + widen * (high - mean)), columns
    )


def _resampled_means(table: Sequence[Sequence[float]], rng: random.Random, resamples: int) -> list[float]:
    """Sorted means of `resamples` draws of rows and columns with replacement."""
    rows, columns = range(len(table)), len(table[0])
    merged: dict[tuple[int, ...], list[float]] = {}
    means: list[float] = []
    for _ in range(resamples):
        drawn = tuple(sorted(rng.choices(rows, k=len(rows))))
        if drawn not in merged:
            merged[drawn] = [math.fsum(table[row][column] for row in drawn) for column in range(columns)]
        means.append(math.fsum(rng.choices(merged[drawn], k=columns)) / (len(rows) * columns))
    return sorted(means)


def _check(table: Sequence[Sequence[float]], resamples: int, confidence: float) -> None:
    if not 0 < confidence < 1 or resamples < 2 / (1 - confidence):
        raise EvaluationError(
            f"An interval needs 0 < confidence < 1 and at least 2 / (1 - confidence) resamples; "
            f"confidence is {confidence}, resamples {resamples}."
        )
    if not table or not table[0]:
        raise EvaluationError(
            "An interval needs at least one value; none was given. Score at least one task."
        )
    if any(len(row) != len(table[0]) for row in table):
        raise EvaluationError(
            f"Every run needs the same tasks; they hold {[len(row) for row in table]}. Score the rest."
        )
    bad = sum(not math.isfinite(value) for row in table for value in row)
    if bad:
        raise EvaluationError(f"Scores must be finite; {bad} are NaN or infinite. Score these tasks again.")


def wilson(successes: float, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a proportion; never of width 0, also at 0 and 1.

    `successes` may be a sum of task means: n is then the number of tasks, which never makes the interval
    narrower than the truth, for a mean in [0, 1] varies at most as one throw of a coin.

    Raises:
        EvaluationError: no trials, or more successes than trials.
    """
    if n < 1 or not 0 <= successes <= n:
        raise EvaluationError(f"A proportion needs 0 <= successes <= n and n >= 1; got {successes} of {n}.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, scale = successes / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    return Interval(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)), n)
