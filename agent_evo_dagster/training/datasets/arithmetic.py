"""Generated arithmetic as a data set: as many problems as are asked for, none stored."""

from agent_evo_dagster.training.environments.problems import draw, problem
from agent_evo_dagster.training.environments.types import Split, Task


class GeneratedArithmetic:
    """The problems of environments.problems."""

    def tasks(self, split: Split, count: int, seed: int) -> list[Task]:
        """The first `count` problems of the split's stream for `seed`."""
        return draw(split, count, seed)

    def task(self, task_id: str) -> Task:
        """The problem with this id."""
        return problem(task_id)
