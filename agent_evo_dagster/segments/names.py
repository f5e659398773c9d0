"""What a call names: files, runs, tasks, jobs. Two stretches of work that share a name share a subject.

A name is the last part of a path that ends as files do, a word with a run of digits in it (a run's id), or
the id of a task or job. Text that a person wrote is not looked at.
"""

from typing import Any, Final

from agent_evo_dagster.segments.view import TrajectoryView

_PATH_FIELDS: Final = ("file_path", "notebook_path", "path")
_ID_FIELDS: Final = ("task_id", "taskId", "shell_id", "bash_id", "id")


def names_in(view: TrajectoryView, position: int) -> frozenset[str]:
    """The names in one call; none in other steps."""
    if not view.is_call(position):
        return frozenset()
    if position not in view.names:
        view.names[position] = _find(view, position)
    return view.names[position]


def _find(view: TrajectoryView, position: int) -> frozenset[str]:
    found = {f"id:{made}" for made in ids_made(view, position)}
    words = view.words[position]
    if words is not None:
        # a bare number is as likely a size or a port as a run's id
        found.update(word for word in words if not word.isdigit())
        return frozenset(found)
    asked = view.input_of(position)
    for field in _ID_FIELDS:
        if isinstance(value := asked.get(field), str):
            found.add(f"id:{value}")
    for field in _PATH_FIELDS:
        if isinstance(path := asked.get(field), str):
            found.add(path.rstrip("/").rpartition("/")[2])
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
