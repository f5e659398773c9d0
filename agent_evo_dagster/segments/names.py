"""What a call names: files, runs, tasks, jobs. Two stretches of work that share a name share a subject.

A name is the last part of a path that ends as files do, a word with a run of digits in it (a run's id), or
the id of a task or job. Text that a person wrote is not looked at.
"""

from collections.abc import Sequence
from typing import Any

from agent_evo_dagster.segments.view import TrajectoryView


def names_in(view: TrajectoryView, position: int) -> frozenset[str]:
    """The names in one call; none in other steps."""
    if not view.is_call(position):
        return frozenset()
    if position not in view.names:
        view.names[position] = _find(view, position)
    return view.names[position]


def _find(view: TrajectoryView, position: int) -> frozenset[str]:
    found = [f"id:{made}" for made in ids_made(view, position)]
    words = view.words[position]
    if words is not None:
        # a bare number is as likely a size or a port as a run's id
        return frozenset([*found, *(word for word in words if not word.isdigit())])
    asked = view.asked[position]
    ids = (asked.task_id, asked.taskId, asked.shell_id, asked.bash_id, asked.id)
    found.extend(f"id:{value}" for value in ids if isinstance(value, str))
    paths = (asked.file_path, asked.notebook_path, asked.path)
    found.extend(path.rstrip("/").rpartition("/")[2] for path in paths if isinstance(path, str))
    return frozenset(found)


def ids_made(view: TrajectoryView, position: int) -> Sequence[str]:
    """The ids of tasks, jobs and schedules that a call made."""
    if view.tool_response[position] is None or view.tool_name[position] in ("Skill", "TaskOutput"):
        return ()
    response = view.response_of(position)
    task = response.get("task")
    made: list[Any] = [response.get(field) for field in ("backgroundTaskId", "taskId", "id")]
    made.append(task.get("id") if isinstance(task, dict) else None)
    return [value for value in made if isinstance(value, str)]
