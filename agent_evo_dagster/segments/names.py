"""What a call names: files, runs, tasks, jobs. Two stretches of work that share a name share a subject.

A name is the last part of a path that ends as files do, a word with a run of digits in it (a run's id), or
the id of a task or job. Text that a person wrote is not looked at.
"""

import re
from typing import Any, Final

from agent_evo_dagster.segments.view import TrajectoryView

_MAX_TEXT: Final = 4_000  # characters of a command that are looked at
_WORD: Final = re.compile(r"[\w.-]+")
_RUN_OF_DIGITS: Final = re.compile(r"\d{4}")
_LETTER: Final = re.compile(r"[A-Za-z]")
_PATH_FIELDS: Final = ("file_path", "notebook_path", "path")
_ID_FIELDS: Final = ("task_id", "taskId", "shell_id", "bash_id", "id")
_TEXT_FIELDS: Final = ("command", "args")
_ENDINGS: Final = (
    "arrow bin c cc cfg conf cpp css csv go h html ini ipynb java jinja js json jsonl jsx lock log md npz parquet"
    " pdf pkl png proto pt py pyi rb rs rst safetensors scala sh sql svg tex toml ts tsv tsx txt xml yaml yml"
)
_FILE_ENDINGS: Final = frozenset(_ENDINGS.split())


def names_in(view: TrajectoryView, position: int) -> frozenset[str]:
    """The names in one call; none in other steps."""
    if not view.is_call(position):
        return frozenset()
    if position not in view.names:
        view.names[position] = _find(view, position)
    return view.names[position]


def _find(view: TrajectoryView, position: int) -> frozenset[str]:
    asked = view.input_of(position)
    found = {f"id:{value}" for field in _ID_FIELDS if isinstance(value := asked.get(field), str)}
    for field in _PATH_FIELDS:
        if isinstance(path := asked.get(field), str):
            found.add(path.rstrip("/").rpartition("/")[2])
    for field in _TEXT_FIELDS:
        if isinstance(text := asked.get(field), str):
            found.update(_words(text))
    found.update(f"id:{made}" for made in ids_made(view, position))
    return frozenset(found)


def ids_made(view: TrajectoryView, position: int) -> list[str]:
    """The ids of tasks, jobs and schedules that a call made."""
    if view.tool_response[position] is None or view.tool_name[position] in ("Skill", "TaskOutput"):
        return []
    response = view.response_of(position)
    task = response.get("task")
    made: list[Any] = [response.get(field) for field in ("backgroundTaskId", "taskId", "id")]
    made.append(task.get("id") if isinstance(task, dict) else None)
    return [value for value in made if isinstance(value, str)]


def _words(text: str) -> set[str]:
    found = set()
    for word in set(_WORD.findall(text[:_MAX_TEXT])):
        if word.isalpha() or len(word) < 4:
            continue
        stem, dot, ending = word.rpartition(".")
        is_file = dot and stem and ending in _FILE_ENDINGS
        if is_file or (_RUN_OF_DIGITS.search(word) and _LETTER.search(word)):
            found.add(word)
    return found
