"""Tasks, skills, and a reader that follows a script, as tests of rollouts share them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.rollouts.running import Sides
from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.rollouts.types import Attempt, Budget
from agent_evo_dagster.skills.types import CompiledSkill
from tests.agent_evo_dagster.patches.material import judge_tasks

ENOUGH = Budget(seconds=1000.0, tokens=10_000, money=10.0)
Does = Callable[[Task, str], Attempt]  # the task, and the text of the skill


def tasks(number: int = 20) -> list[Task]:
    """Tasks of the judge's split, whose answer is yes."""
    return [Task(id=name, prompt=f"Is it {name}?", answer="yes") for name in judge_tasks(number)]


def written(folder: Path, skill: str, number: int = 20) -> Path:
    """The same as files of a bank."""
    (folder / skill).mkdir(parents=True)
    for task in tasks(number):
        (folder / skill / f"{task.id}.yaml").write_text(
            f'id: {task.id}\nprompt: "{task.prompt}"\nanswer: "yes"\n'
        )
    return folder


def compiled(text: str, name: str = "alpha") -> CompiledSkill:
    return CompiledSkill("rllm", name, text, sha256_bytes(text.encode()), [], Path(name), text, (), ())


def sides(before: str = "old", after: str = "new") -> Sides:
    return Sides("alpha", [compiled(before)], [compiled(after)])


def attempt(done: bool | None = True, **more: object) -> Attempt:
    fields = {"finish": "stop", "tokens": 5, "cost_usd": 0.01, "seconds": 1.0, "models": ("m",)}
    return Attempt(done=done, **{**fields, **more})


@dataclass
class Scripted:
    """Does what `does` says, and remembers what it was given."""

    does: Does = lambda _task, text: attempt("new" in text)
    engine: str = "scripted 1"
    asked: str | None = None
    given: list[tuple[str, str]] = field(default_factory=list)
    left: list[Budget] = field(default_factory=list)
    readied: int = 0

    def can_do(self, task: Task) -> bool:
        return task.answer is not None

    def sees(self, skill: str, skills: Sequence[CompiledSkill]) -> str:
        return self._text(skill, skills)

    def most(self, task: Task) -> float | None:
        return task.limits.money

    def ready(self) -> None:
        self.readied += 1

    def attempt(self, task: Task, skill: str, skills: Sequence[CompiledSkill], left: Budget) -> Attempt:
        text = self._text(skill, skills)
        self.given.append((task.id, text))
        self.left.append(left)
        return self.does(task, text)

    def _text(self, skill: str, skills: Sequence[CompiledSkill]) -> str:
        return next(one.text for one in skills if one.name == skill)
