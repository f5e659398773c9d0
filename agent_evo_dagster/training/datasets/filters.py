"""Which tasks of a data set are kept, with a count of those that are not, by reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agent_evo_dagster.training.environments.answers import parse_number
from agent_evo_dagster.training.environments.types import Task

AnswerType = Literal["number", "text"]


@dataclass(frozen=True)
class Filter:
    """One reason to drop a task."""

    name: str
    drops: Callable[[Task], bool]


@dataclass(frozen=True)
class Kept:
    """The tasks that are left, each once, and how many each filter dropped."""

    tasks: tuple[Task, ...]
    dropped: Mapping[str, int]


def standard_filters(answers: AnswerType, max_question_characters: int) -> tuple[Filter, ...]:
    """What is asked of every task, in this order."""
    filters = (
        Filter("no_question", lambda task: not task.question),
        Filter("no_answer", lambda task: not task.answer),
        Filter("question_too_long", lambda task: len(task.question) > max_question_characters),
    )
    if answers == "text":
        return filters
    return (*filters, Filter("answer_not_a_number", lambda task: parse_number(task.answer) is None))


def keep(tasks: Iterable[Task], filters: Iterable[Filter]) -> Kept:
    """Drop what a filter drops, questions that were asked before, and questions with two answers."""
    rules = tuple(filters)
    dropped: Counter[str] = Counter({each.name: 0 for each in rules})
    kept: dict[str, Task] = {}
    contested: set[str] = set()
    for task in tasks:
        reason = next((each.name for each in rules if each.drops(task)), None)
        if reason is not None:
            dropped[reason] += 1
        elif task.task_id not in kept:
            kept[task.task_id] = task
        else:
            dropped["asked_before"] += 1
            if kept[task.task_id].answer != task.answer:
                contested.add(task.task_id)
    dropped["two_answers"] += len(contested)
    return Kept(tuple(task for key, task in kept.items() if key not in contested), dict(dropped))
