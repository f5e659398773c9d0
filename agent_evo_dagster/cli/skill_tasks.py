"""`agent-evo skills tasks`: the tasks that a skill's patches are tried on, and ids for more of them."""

import json
import re
from itertools import count, islice
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.evaluation.regressions import rollouts_needed
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.pairing import MIN_TASKS
from agent_evo_dagster.patches.types import NAME_PATTERN
from agent_evo_dagster.rollouts.tasks import FOLDER, MAX_ID, Task, of_the_judge, read_tasks


def tasks(
    skill: Annotated[str, typer.Argument(help="The skill.")],
    *,
    ids: Annotated[
        str | None, typer.Option("--ids", help="Tell ids with this beginning that the judge may use.")
    ] = None,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """List the tasks that patches of a skill are tried on, and whether they are enough."""
    chosen = opened(bank)
    found = read_tasks(chosen.path / FOLDER, chosen.ref(skill).name)
    free = [] if ids is None else _free(_beginning(ids), {task.id for task in found})
    if as_json:
        rows = [{"id": task.id, "split": split_of(task.id), "told_by": _told_by(task)} for task in found]
        print(json.dumps({"skill": skill, "tasks": rows, "ids": free}))
        return
    console = Console(soft_wrap=True)
    table = Table("task", "split", "told by")
    for task in found:
        table.add_row(task.id, split_of(task.id), _told_by(task))
    if found:
        console.print(table)
    console.print(_enough(skill, found), markup=False)
    if free:
        console.print(f"Of the split judge: {', '.join(free)}", markup=False)


def _told_by(task: Task) -> str:
    return "check" if task.check else "answer"


def _enough(skill: str, found: list[Task]) -> str:
    number = len(of_the_judge(found))
    if not found:
        return (
            f"{skill} has no tasks. A task is a prompt with its answer or a check, on which the skill is "
            f"tried as it is and with a patch; patches are tried from {MIN_TASKS} tasks of the split judge "
            f"on. Write each as {FOLDER}/{skill}/ID.yaml of the bank (docs/gate.md tells the "
            f"fields), with ids that --ids BEGINNING finds."
        )
    told = f"{skill}: {number} of its {len(found)} tasks are of the split judge"
    if number < MIN_TASKS:
        return f"{told}; its patches are tried from {MIN_TASKS} on. Find ids: --ids BEGINNING"
    return f"{told}; a patch takes {2 * number * rollouts_needed(number)} rollouts."


def _beginning(asked: str) -> str:
    """The beginning of ids that was asked for.

    Raises:
        TaskError: no id of a task begins so.
    """
    if re.fullmatch(NAME_PATTERN, asked) is None or len(asked) > MAX_ID - 10:
        raise TaskError(
            f"Ids that begin with {asked!r} were asked for. Ids of tasks are lower-case letters, digits and "
            f"single hyphens, at most {MAX_ID} characters: --ids read-log"
        )
    return asked


def _free(beginning: str, taken: set[str]) -> list[str]:
    names = (f"{beginning}-{number}" for number in count())
    return list(islice((one for one in names if split_of(one) == "judge" and one not in taken), MIN_TASKS))
