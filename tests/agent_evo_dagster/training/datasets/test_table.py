import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.datasets.table import TaskTable
from agent_evo_dagster.training.datasets.transforms import task_id
from agent_evo_dagster.training.environments.types import Task

TASKS = [Task(task_id(f"What is {number}?"), f"What is {number}?", str(number)) for number in range(200)]
SPLITS = ("train", "dev", "judge", "report")


@pytest.fixture
def table():
    return TaskTable(TASKS, "tasks.jsonl")


def test_splits_never_meet_and_lose_no_task(table):
    drawn = {split: {task.task_id for task in table.tasks(split, table.sizes[split], 0)} for split in SPLITS}
    assert sum(map(len, drawn.values())) == len(TASKS)
    assert set().union(*drawn.values()) == {task.task_id for task in TASKS}
    assert all(split_of(each) == split for split, ids in drawn.items() for each in ids)


def test_the_order_is_the_seeds_and_not_that_of_the_rows(table):
    again = TaskTable(list(reversed(TASKS)), "tasks.jsonl")
    assert table.tasks("train", 30, 4) == again.tasks("train", 30, 4)
    assert table.tasks("train", 30, 4) != table.tasks("train", 30, 5)


def test_more_tasks_extend_the_same_stream_and_training_goes_round(table):
    size = table.sizes["train"]
    stream = [task.task_id for task in table.tasks("train", 2 * size + 3, 1)]
    assert stream[:10] == [task.task_id for task in table.tasks("train", 10, 1)]
    assert set(stream[:size]) == set(stream[size : 2 * size])
    assert stream[:size] != stream[size : 2 * size]


def test_a_held_out_split_has_no_repeats_and_says_what_it_has(table):
    with pytest.raises(TrainingError, match=r"'report' were asked for; tasks.jsonl has \d+"):
        table.tasks("report", 201, 0)


def test_a_task_is_found_by_its_id(table):
    assert table.task(TASKS[3].task_id) == TASKS[3]
    with pytest.raises(TrainingError, match="no task 'task-x'"):
        table.task("task-x")


@given(st.lists(st.text(max_size=20), max_size=30), st.lists(st.text(max_size=20), max_size=30))
def test_the_same_question_is_in_the_same_split_whatever_else_is_there(some, others):
    common = "What is  2 PLUS 2?"
    for questions in (some, others):
        ids = {task_id(each) for each in (*questions, common)}
        table = TaskTable([Task(each, "q", "a") for each in ids], "x")
        assert table.task(task_id("what is 2 plus 2? ")).task_id in ids
