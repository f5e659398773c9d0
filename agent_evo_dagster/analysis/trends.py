"""Robust trends of short, noisy series: Theil-Sen slope with Sen's interval. No metric names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Trend:
    """The slope of a series by step, with its 95 % interval, over `n` points."""

    slope: float
    low: float
    high: float
    n: int

    def over(self, steps: float) -> tuple[float, float, float]:
        """The change over so many steps: the figure and its interval."""
        return self.slope * steps, self.low * steps, self.high * steps


def theil_sen(steps: Sequence[float], values: Sequence[float]) -> Trend:
    """The median of the slopes of all pairs; the interval holds the ranks that Kendall's statistic allows.

    Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63 (1968). With so few points
    that no rank can be left out, the interval is the whole range of slopes. Fewer than two different steps
    give a slope of 0 with an unbounded interval.
    """
    pairs = combinations(zip(steps, values, strict=True), 2)
    slopes = sorted((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairs if x1 != x2)
    n = len(values)
    if not slopes:
        return Trend(0.0, -math.inf, math.inf, n)
    spread = _Z95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2))
    return Trend(median(slopes), slopes[low], slopes[len(slopes) - 1 - low], n)


def step_noise(values: Sequence[float]) -> float:
    """The standard deviation of one step's noise, from the median size of changes between neighbours."""
    changes = [abs(after - before) for before, after in pairwise(values)]
    return median(changes) * 1.4826 / math.sqrt(2) if changes else 0.0


def smoothed(values: Sequence[float], width: int) -> list[float]:
    """The means of all `width` neighbours; the series itself where it is shorter than that."""
    if len(values) < width:
        return list(values)
    return [sum(values[at : at + width]) / width for at in range(len(values) - width + 1)]
