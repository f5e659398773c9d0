"""A model that reads the text of a skill as its instructions, and answers. It has no tools and no files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent_evo_dagster.analysts.asking import ask
from agent_evo_dagster.analysts.budget import Budget as AskingBudget
from agent_evo_dagster.analysts.budget import Meter, Names
from agent_evo_dagster.analysts.forms import Form, StrictAnswer
from agent_evo_dagster.analysts.protocol import Model
from agent_evo_dagster.analysts.types import Prompt
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError
from agent_evo_dagster.rollouts.checking import answers
from agent_evo_dagster.rollouts.tasks import Task
from agent_evo_dagster.rollouts.types import Attempt, Budget, counted, paid
from agent_evo_dagster.skills.types import CompiledSkill

CALLS: Final = 8  # of one attempt, tries after a busy service among them
_ASKED: Final = (
    "Follow this skill.\n\n{text}\n\nAnswer with one JSON object. Its field `answer` holds your answer "
    "alone, as the task wants it; `thoughts` comes before it and may hold how you found it."
)


class Said(StrictAnswer):
    """What a model answers."""

    thoughts: str
    answer: str


@dataclass(frozen=True)
class ModelReader:
    """Asks `model`, with the skill's text as the system prompt."""

    model: Model
    names: Names
    output_tokens: int
    price: Price | None = None

    @property
    def engine(self) -> str:
        """The service."""
        return self.model.analyst

    @property
    def asked(self) -> str | None:
        """The model's name."""
        return self.model.model

    def can_do(self, task: Task) -> bool:
        """It has no folder: what is asked and what is expected must be words."""
        return task.answer is not None and not task.files

    def sees(self, skill: str, skills: Sequence[CompiledSkill]) -> str:
        """The skill itself."""
        return _of(skill, skills).sha256

    def most(self, task: Task) -> None:  # noqa: ARG002 (the protocol's)
        """Nobody bounds one answer in money."""
        return

    def ready(self) -> None:
        """Whether there is a key, where one is needed.

        Raises:
            AnalystError: there is none.
        """
        self.model.ready()

    def attempt(self, task: Task, skill: str, skills: Sequence[CompiledSkill], left: Budget) -> Attempt:
        """One answer."""
        system = _ASKED.format(text=_of(skill, skills).text)
        prompt = Prompt(system, (task.prompt,), Form("answer", Said))
        budget = AskingBudget(CALLS, left.tokens, left.money, left.seconds, self.output_tokens, self.names)
        meter = Meter(budget, self.price)
        try:
            asked = ask(self.model, prompt, meter)
        except AnalystError as error:
            ended = isinstance(error, AnalystBudgetError)
            return _attempt(meter, None, why=str(error), ended=ended)
        done = answers(asked.answer.answer, task.answer or "")
        return _attempt(meter, done, models=(asked.told,) if asked.told else ())


def _of(skill: str, skills: Sequence[CompiledSkill]) -> CompiledSkill:
    return next(one for one in skills if one.name == skill)


def _attempt(
    meter: Meter, done: bool | None, *, models: tuple[str, ...] = (), why: str = "", ended: bool = False
) -> Attempt:
    used = meter.usage()
    return Attempt(
        done=done,
        finish="infra_error" if done is None else "stop",
        calls=used.calls,
        tokens=counted(used.tokens),
        cost_usd=paid(used.cost_usd),
        seconds=used.seconds,
        models=models,
        why=why,
        ended=ended,
    )
