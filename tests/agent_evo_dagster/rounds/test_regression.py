"""A policy got worse where the whole interval lies below 0, or where that cannot be ruled out."""

import math

import polars as pl
import pytest

from agent_evo_dagster.rounds.regression import outcome_of
from agent_evo_dagster.training.types import EVALUATION_SCHEMA


def evaluation(before, after, *, tasks=50, mode="sampled"):
    """Each side is right on the first so many of the tasks."""
    rows = [
        (policy, 0, mode, f"task-{task:03}", 0, float(task < right), task < right, "stop", 1, 10)
        for policy, right in (("before", before), ("after", after))
        for task in range(tasks)
    ]
    return pl.DataFrame(rows, schema=EVALUATION_SCHEMA, orient="row")


@pytest.mark.parametrize(
    ("before", "after", "regressed"), [(30, 10, True), (10, 30, False), (20, 20, False), (20, 19, False)]
)
def test_only_what_is_worse_beyond_the_interval_is_a_regression(before, after, regressed):
    outcome = outcome_of(evaluation(before, after))
    assert outcome.regressed is regressed
    assert outcome.difference == pytest.approx((after - before) / 50)
    assert (outcome.high < 0) is regressed
    assert f"{before / 50:.3f} -> {after / 50:.3f} on 50 tasks" in outcome.told


def test_greedy_rollouts_do_not_count():
    frames = [evaluation(30, 30), evaluation(30, 0, mode="greedy")]
    assert not outcome_of(pl.concat(frames)).regressed


@pytest.mark.parametrize(
    "damage",
    [
        lambda frame: frame.with_columns(
            reward=pl.when(pl.col("task_id") == "task-000").then(math.nan).otherwise(pl.col("reward"))
        ),
        lambda frame: frame.with_columns(
            correct=pl.when(pl.col("task_id") == "task-000").then(None).otherwise(pl.col("correct"))
        ),
        lambda frame: frame.filter((pl.col("task_id") != "task-000") | (pl.col("policy") == "before")),
        lambda frame: frame.clear(),
    ],
)
def test_a_score_that_is_missing_or_not_finite_is_a_regression(damage):
    outcome = outcome_of(damage(evaluation(10, 40)))
    assert outcome.regressed and outcome.difference is None and outcome.told
