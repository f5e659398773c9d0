"""What a row of a data set means: its question, its answer, and the id of its task."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.environments.types import Task
from agent_evo_dagster.training.tool_calls.types import JsonValue

QUESTIONS = ("question", "problem", "prompt", "query", "instruction")
ANSWERS = ("answer", "ground_truth", "solution", "target", "output")
_MARKED = re.compile(r"####\s*(.+?)\s*\Z", re.DOTALL)  # GSM8K: the answer after its worked solution


@dataclass(frozen=True)
class Columns:
    """Where question and answer stand."""

    question: str
    answer: str


def columns_of(row: Mapping[str, JsonValue], question: str, answer: str) -> Columns:
    """The columns that are named, or those of usual names where a name is empty.

    Raises:
        TrainingError: there is no such column.
    """
    return Columns(
        _column(row, question, QUESTIONS, "question_field"), _column(row, answer, ANSWERS, "answer_field")
    )


def _column(row: Mapping[str, JsonValue], named: str, usual: Sequence[str], setting: str) -> str:
    found = next((name for name in ((named,) if named else usual) if name in row), None)
    if found is None:
        raise TrainingError(
            f"The data set has the columns {', '.join(row)}; none of them is {named or ' or '.join(usual)}. "
            f"Name it with {setting}."
        )
    return found


def task_of(row: Mapping[str, JsonValue], columns: Columns) -> Task:
    """The task in a row; what cannot be read as text is empty, for a filter to drop.

    The id is a hash of the question alone, white space and case aside: the same question in two rows, files
    or rounds is one task, and falls into one split.
    """
    question, answer = _text(row.get(columns.question)), _text(row.get(columns.answer))
    marked = _MARKED.search(answer)
    extra = {name: value for name, value in row.items() if name not in (columns.question, columns.answer)}
    return Task(task_id(question), question, marked.group(1) if marked else answer, extra)


def task_id(question: str) -> str:
    """The id of the task that asks `question`."""
    plain = " ".join(unicodedata.normalize("NFKC", question).split()).casefold()
    return f"task-{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""
