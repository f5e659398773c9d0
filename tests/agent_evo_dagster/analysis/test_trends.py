import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.trends import smoothed, step_noise, theil_sen


def test_the_slope_of_a_line_is_exact():
    trend = theil_sen(range(10), [0.5 * x for x in range(10)])
    assert (trend.slope, trend.low, trend.high) == (0.5, 0.5, 0.5)


def test_one_outlier_does_not_turn_the_slope():
    values = [0.1 * x for x in range(12)]
    values[5] = 50.0
    assert theil_sen(range(12), values).slope == pytest.approx(0.1, abs=0.02)


def test_the_interval_covers_the_true_slope_about_as_often_as_it_says():
    dice = random.Random(7)
    covered = 0
    for _ in range(400):
        values = [0.02 * x + dice.gauss(0, 0.04) for x in range(10)]
        trend = theil_sen(range(10), values)
        covered += trend.low <= 0.02 <= trend.high
    assert 0.92 <= covered / 400 <= 0.99


@pytest.mark.parametrize("points", [[], [(1, 2.0)], [(3, 1.0), (3, 2.0)]])
def test_without_two_steps_nothing_is_known(points):
    trend = theil_sen([x for x, _ in points], [y for _, y in points])
    assert (trend.slope, trend.low, trend.high) == (0.0, -math.inf, math.inf)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_the_slope_lies_in_its_interval(values):
    trend = theil_sen(range(len(values)), values)
    assert trend.low <= trend.slope <= trend.high


def test_the_noise_of_a_step_is_measured_beside_a_trend():
    dice = random.Random(3)
    values = [0.01 * x + dice.gauss(0, 0.05) for x in range(300)]
    assert step_noise(values) == pytest.approx(0.05, rel=0.15)
    assert step_noise([1.0]) == 0.0


def test_smoothing_keeps_what_is_too_short():
    assert smoothed([1.0, 2.0, 6.0], 3) == [3.0]
    assert smoothed([1.0], 3) == [1.0]
