"""Splits by hash."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.splits import require_split, split_of, strays


def test_splits_never_move():
    known = {
        "task-0": "judge",
        "task-1": "train",
        "task-8": "dev",
        "task-16": "report",
        "算術-7": "train",
        "": "train",
    }
    assert {task: split_of(task) for task in known} == known


def test_shares_are_seventy_ten_ten_ten():
    counts = Counter(split_of(f"task-{index}") for index in range(20_000))
    assert counts["train"] == pytest.approx(14_000, rel=0.03)
    for split in ("dev", "judge", "report"):
        assert counts[split] == pytest.approx(2_000, rel=0.08)


@given(st.text())
def test_every_id_has_one_split(task_id):
    assert split_of(task_id) == split_of(task_id)
    assert split_of(task_id) in {"train", "dev", "judge", "report"}


def test_a_task_of_another_split_is_named():
    tasks = [f"task-{index}" for index in range(50)]
    judge = [task for task in tasks if split_of(task) == "judge"]
    require_split(judge, "judge")
    wrong = next(task for task in tasks if split_of(task) == "train")
    assert strays([*judge, wrong, wrong], "judge") == [wrong]
    with pytest.raises(EvaluationError, match=rf"'{wrong}' \(train\)"):
        require_split([*judge, wrong], "judge")
