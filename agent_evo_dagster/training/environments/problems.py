"""Generated arithmetic problems. A problem is a function of its id, so splits by id never share one."""

import random
from dataclasses import dataclass

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.environments.answers import format_number
from agent_evo_dagster.training.environments.calculator import calculate
from agent_evo_dagster.training.environments.types import Split, Task

NAMES = ("Tom", "Ann", "Bob", "Eve", "Max", "Zoe")
THINGS = ("apples", "coins", "pens", "books", "eggs", "cards")


@dataclass(frozen=True)
class Kind:
    """One kind of problem: its wording, its solution, and the largest value of each of its numbers."""

    name: str
    question: str
    expression: str
    largest: tuple[int, ...]
    ordered: bool = False  # the first number is the largest


KINDS = (
    Kind("gain", "{name} has {a} {thing} and gets {b} more. How many now?", "{a}+{b}", (99, 99)),
    Kind("plus", "What is {a} plus {b}?", "{a}+{b}", (99, 99)),
    Kind("lose", "{name} has {a} {thing} and loses {b}. How many are left?", "{a}-{b}", (99, 99),
         ordered=True),
    Kind("minus", "What is {a} minus {b}?", "{a}-{b}", (99, 99)),
    Kind("boxes", "There are {a} boxes with {b} {thing} each. How many {thing}?", "{a}*{b}", (99, 20)),
    Kind("times", "What is {a} times {b}?", "{a}*{b}", (99, 99)),
    Kind("swap", "{name} has {a} {thing}, gets {b} and loses {c}. How many now?", "{a}+{b}-{c}",
         (99, 99, 20)),
    Kind("buy", "{name} buys {a} {thing} at {c} each and pays {b} more. What is the total?", "{a}*{c}+{b}",
         (99, 99, 20)),
)  # fmt: skip


def problem(task_id: str) -> Task:
    """The problem with this id, `<kind>-<a>-<b>[-<c>]`.

    Raises:
        TrainingError: no problem has this id.
    """
    kind, numbers = _read(task_id)
    words = random.Random(task_id)
    fields = {"name": words.choice(NAMES), "thing": words.choice(THINGS), **numbers}
    answer = format_number(calculate(kind.expression.format(**numbers)))
    return Task(task_id, kind.question.format(**fields), answer)


def expression_of(task_id: str) -> str:
    """The expression that solves the problem."""
    kind, numbers = _read(task_id)
    return kind.expression.format(**numbers)


def draw(split: Split, count: int, seed: int) -> list[Task]:
    """The first `count` problems of the split's stream for `seed`. A held-out split has no repeats.

    Raises:
        TrainingError: the held-out split does not hold that many.
    """
    rng = random.Random(f"{split}:{seed}")
    drawn: dict[str, Task] = {}
    tasks: list[Task] = []
    for _ in range(100 * count + 1000):
        if len(tasks) == count:
            return tasks
        task_id = _draw_id(rng)
        if split_of(task_id) == split and (split == "train" or task_id not in drawn):
            drawn.setdefault(task_id, problem(task_id))
            tasks.append(drawn[task_id])
    raise TrainingError(
        f"{count} different problems of the split {split!r} were asked for; {len(tasks)} were found. "
        "Ask for fewer."
    )


def _draw_id(rng: random.Random) -> str:
    kind = rng.choice(KINDS)
    numbers = [rng.randint(2, largest) for largest in kind.largest]
    if kind.ordered:
        numbers.sort(reverse=True)
    return "-".join([kind.name, *map(str, numbers)])


def _read(task_id: str) -> tuple[Kind, dict[str, int]]:
    name, *texts = task_id.split("-")
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None or len(texts) != len(kind.largest) or not all(_is_plain(text) for text in texts):
        raise TrainingError(f"No arithmetic problem has the id {task_id!r}; ids read like 'plus-12-30'.")
    return kind, dict(zip("abc", map(int, texts), strict=False))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 2
