"""Tasks from stored rows, split by the hash of each task, in an order that a seed decides."""

import random
from collections.abc import Mapping, Sequence

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.environments.types import Split, Task


class TaskTable:
    """A fixed set of tasks. No task is in two splits, whatever file or row it came from."""

    def __init__(self, tasks: Sequence[Task], name: str) -> None:
        self._name = name
        self._tasks: Mapping[str, Task] = {task.task_id: task for task in sorted(tasks, key=_id)}
        self._splits: dict[Split, list[str]] = {"train": [], "dev": [], "judge": [], "report": []}
        for task_id in self._tasks:
            self._splits[split_of(task_id)].append(task_id)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of tasks of each split."""
        return {split: len(ids) for split, ids in self._splits.items()}

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` tasks of the split's stream for `seed`.

        Training goes through all tasks again and again, shuffled anew each time; a held-out split has no
        repeats.

        Raises:
            TrainingError: the split does not hold that many.
        """
        ids = self._splits[split]
        if not ids or (split != "train" and count > len(ids)):
            raise TrainingError(
                f"{count} tasks of the split {split!r} were asked for; {self._name} has {len(ids)}. Ask for "
                "fewer (evaluation_tasks, or the probe's), or bring more rows."
            )
        drawn: list[str] = []
        while len(drawn) < count:
            once = list(ids)
            random.Random(f"{split}:{seed}:{len(drawn) // len(ids)}").shuffle(once)
            drawn += once
        return [self._tasks[task_id] for task_id in drawn[:count]]

    def task(self, task_id: str) -> Task:
        """The task with this id.

        Raises:
            TrainingError: there is none.
        """
        if task_id not in self._tasks:
            raise TrainingError(f"{self._name} has no task {task_id!r}.")
        return self._tasks[task_id]


def _id(task: Task) -> str:
    return task.task_id
