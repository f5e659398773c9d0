"""Tables of evaluation rows."""

import math

import polars as pl
import pytest

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.summary import (
    DIFFERENCE_SCHEMA,
    SUMMARY_SCHEMA,
    difference,
    pass_table,
    summarise,
)
from agent_evo_dagster.training.types import EVALUATION_SCHEMA


def rows(policy, shares, samples=4, mode="sampled"):
    """One task per share; that share of its rollouts is right."""
    keys = [
        (task, sample, sample < share * samples)
        for task, share in enumerate(shares)
        for sample in range(samples)
    ]
    table = [
        (policy, 0, mode, f"t{task}", sample, float(right), right, "stop", 1, 10)
        for task, sample, right in keys
    ]
    return pl.DataFrame(table, schema=EVALUATION_SCHEMA, orient="row")


def test_summary_counts_tasks_and_weighs_them_equally():
    frame = pl.concat([rows("after", [1, 1, 0.5, 0.5]), rows("before", [0, 0, 0.5, 0.5], samples=2)])
    table = summarise(frame)
    assert table.schema == SUMMARY_SCHEMA
    assert table["policy"].to_list() == ["after", "before"]
    assert table["tasks"].to_list() == [4, 4]
    assert table["rollouts"].to_list() == [16, 8]
    assert table["accuracy"].to_list() == [0.75, 0.25]
    for name in ("accuracy", "reward"):
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


def test_a_perfect_score_still_has_an_interval():
    table = summarise(rows("after", [1] * 20))
    assert table["accuracy"].item() == 1
    assert table["accuracy_low"].item() < 0.9


def test_row_order_does_not_matter():
    frame = pl.concat([rows("before", [0.25, 1, 0]), rows("after", [0.5, 1, 0.75])])
    shuffled = frame.sample(fraction=1, shuffle=True, seed=5)
    assert summarise(frame).equals(summarise(shuffled))
    assert difference(frame).equals(difference(shuffled))


def test_difference_is_paired_by_task_in_each_mode():
    frame = pl.concat(
        [
            rows("before", [0.25] * 12),
            rows("after", [0.75] * 12),
            rows("before", [0, 1] * 6, mode="greedy"),
            rows("after", [0, 1] * 6, mode="greedy"),
        ]
    )
    table = difference(frame)
    assert table.schema == DIFFERENCE_SCHEMA
    assert table["mode"].to_list() == ["greedy", "greedy", "sampled", "sampled"]
    assert table["difference"].to_list() == [0, 0, 0.5, 0.5]
    assert table["low"].to_list() == [0, 0, 0.5, 0.5]


def test_difference_refuses_other_tasks():
    with pytest.raises(EvaluationError, match="same sampled tasks"):
        difference(pl.concat([rows("before", [1, 1]), rows("after", [1])]))


@pytest.mark.parametrize("reward", [math.nan, math.inf, None])
def test_a_missing_score_is_not_a_zero(reward):
    broken = rows("after", [1, 0.5]).with_columns(
        pl.when(pl.col("sample") == 3)
        .then(pl.lit(reward, pl.Float64))
        .otherwise(pl.col("reward"))
        .alias("reward")
    )
    with pytest.raises(EvaluationError, match="not a zero"):
        summarise(broken)


def test_pass_table_tells_luck_from_reliability():
    table = pass_table(rows("after", [1, 0.5, 0]), ks=(1, 2))
    assert table["pass_at_k"].to_list() == pytest.approx([0.5, (1 + 5 / 6 + 0) / 3])
    assert table["pass_hat_k"].to_list() == pytest.approx([0.5, (1 + 1 / 6 + 0) / 3])
    with pytest.raises(EvaluationError, match="at least k"):
        pass_table(rows("after", [1]), ks=(5,))


def test_no_rows_give_an_empty_table():
    assert summarise(pl.DataFrame(schema=EVALUATION_SCHEMA)).is_empty()
    assert difference(pl.DataFrame(schema=EVALUATION_SCHEMA)).is_empty()
