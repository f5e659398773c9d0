"""The seam of readers: who does a task with the text of a skill. No reader."""

from collections.abc import Sequence
from typing import Protocol

from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.rollouts.types import Attempt, Budget
from agent_evo_dagster.skills.types import CompiledSkill


class Reader(Protocol):
    """Does tasks as a skill says, each time anew."""

    @property
    def engine(self) -> str:
        """What it is, with its version where it has one."""

    @property
    def asked(self) -> str | None:
        """The model that is asked for; None: the engine's own choice."""

    def can_do(self, task: Task) -> bool:
        """Whether it has what the task needs."""

    def sees(self, skill: str, skills: Sequence[CompiledSkill]) -> str:
        """A hash of what it reads of the skills: what is the same to it is not tried twice."""

    def most(self, task: Task) -> float | None:
        """The most that one attempt may cost, in US dollars; None: nobody bounds it."""

    def ready(self) -> None:
        """Look whether it can work at all, at no cost.

        Raises:
            AgentEvoError: a key or a program is missing.
        """

    def attempt(self, task: Task, skill: str, skills: Sequence[CompiledSkill], left: Budget) -> Attempt:
        """Do one task, with no more than what is left; what goes wrong is in the attempt."""
