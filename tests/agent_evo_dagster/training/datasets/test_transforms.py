import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.datasets.filters import Filter, keep, standard_filters
from agent_evo_dagster.training.datasets.transforms import Columns, columns_of, task_id, task_of
from agent_evo_dagster.training.environments.types import Task

COLUMNS = Columns("question", "answer")


def task(**row):
    return task_of(row, COLUMNS)


def test_of_a_worked_solution_the_part_behind_the_mark_is_the_answer():
    read = task(question=" How many? ", answer="5 + 7 = <<5+7=12>>12 apples.\n#### 1,012", level=3)
    assert (read.question, read.answer, read.extra) == ("How many?", "1,012", {"level": 3})


@pytest.mark.parametrize(
    ("value", "answer"), [(12, "12"), (1.5, "1.5"), (None, ""), (True, ""), ([1], ""), (" a ", "a")]
)
def test_answers_that_are_numbers_are_text_and_others_that_are_not_text_are_empty(value, answer):
    assert task(question="q", answer=value).answer == answer


def test_a_question_in_another_dress_is_the_same_task():
    assert task_id("What is 2 + 2?") == task_id("  what is\n2 + 2? ") == task_id("What is 2\u00a0+ 2?")
    assert task_id("What is 2 + 2?") != task_id("What is 2 + 3?")
    assert task_id("\ud800")  # a lone surrogate is text as well


def test_columns_are_found_by_their_usual_names_or_as_they_are_named():
    row = {"problem": "p", "solution": "s", "hint": "h"}
    assert columns_of(row, "", "") == Columns("problem", "solution")
    assert columns_of(row, "hint", "") == Columns("hint", "solution")
    with pytest.raises(TrainingError, match=r"columns problem, solution, hint; none .* gold.*answer_field"):
        columns_of(row, "", "gold")


def tasks(*pairs):
    return [Task(task_id(question), question, answer) for question, answer in pairs]


def test_rows_are_dropped_by_reason_and_counted():
    rows = tasks(("", "1"), ("a", ""), ("b" * 11, "1"), ("c", "many"), ("d", "1"), ("D ", "1"), ("e", "7/2"))
    kept = keep(rows, standard_filters("number", 10))
    assert [each.question for each in kept.tasks] == ["d", "e"]
    assert dict(kept.dropped) == {
        "no_question": 1,
        "no_answer": 1,
        "question_too_long": 1,
        "answer_not_a_number": 1,
        "asked_before": 1,
        "two_answers": 0,
    }


def test_a_question_with_two_answers_has_none():
    kept = keep(tasks(("a", "1"), ("a", "2"), ("a", "1"), ("b", "1")), ())
    assert [each.question for each in kept.tasks] == ["b"]
    assert dict(kept.dropped) == {"asked_before": 2, "two_answers": 1}


def test_answers_in_words_are_kept_where_they_are_asked_for():
    assert keep(tasks(("c", "many")), standard_filters("text", 10)).tasks


def test_the_first_filter_that_drops_a_row_counts_it():
    both = (Filter("one", lambda _: True), Filter("two", lambda _: True))
    assert dict(keep(tasks(("a", "1")), both).dropped) == {"one": 1, "two": 0, "two_answers": 0}
