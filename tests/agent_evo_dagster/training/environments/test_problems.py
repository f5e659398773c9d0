import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.environments.answers import same_number
from agent_evo_dagster.training.environments.calculator import calculate
from agent_evo_dagster.training.environments.problems import KINDS, draw, expression_of, problem

SPLITS = ("train", "dev", "judge", "report")


def test_a_problem_is_a_function_of_its_id():
    task = problem("plus-27-45")
    assert (task.question, task.answer) == ("What is 27 plus 45?", "72")
    assert problem("buy-12-30-7") == problem("buy-12-30-7")


@pytest.mark.parametrize("split", SPLITS)
def test_every_task_is_of_the_split_that_was_asked_for(split):
    tasks = draw(split, 300, seed=1)
    assert len(tasks) == 300
    assert {split_of(task.task_id) for task in tasks} == {split}


def test_train_and_held_out_tasks_never_meet():
    drawn = {split: {(t.task_id, t.question) for t in draw(split, 500, seed=3)} for split in SPLITS}
    for split in SPLITS[1:]:
        assert not drawn["train"] & drawn[split]


def test_a_held_out_split_has_no_repeats():
    assert len({task.task_id for task in draw("report", 1000, seed=0)}) == 1000


def test_more_tasks_extend_the_same_stream():
    assert draw("train", 50, seed=5) == draw("train", 80, seed=5)[:50]


def test_another_seed_gives_other_tasks():
    assert draw("train", 20, seed=0) != draw("train", 20, seed=1)


def test_the_answer_is_the_value_of_the_expression():
    for task in draw("train", 200, seed=0):
        assert same_number(task.answer, str(calculate(expression_of(task.task_id))))


def test_every_kind_is_drawn():
    assert {task.task_id.split("-")[0] for task in draw("dev", 300, seed=0)} == {kind.name for kind in KINDS}


@pytest.mark.parametrize(
    "task_id", ["", "plus", "plus-1", "plus-1-2-3", "plus-a-b", "../etc-1-2", "plus-1-222"]
)
def test_an_unknown_id_is_refused(task_id):
    with pytest.raises(TrainingError, match="ids read like"):
        problem(task_id)


def test_more_held_out_tasks_than_there_are_is_refused(monkeypatch):
    monkeypatch.setattr("agent_evo_dagster.training.environments.problems.KINDS", KINDS[4:5])
    with pytest.raises(TrainingError, match="Ask for fewer"):
        draw("judge", 1000, seed=0)
