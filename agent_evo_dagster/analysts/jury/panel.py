"""Comparisons put to one model: each question in both orders, several times, each answer kept. No verdict."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_evo_dagster.analysts import record
from agent_evo_dagster.analysts.asking import ask, request_of
from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.jury.question import Exhibit, Votes, build_question
from agent_evo_dagster.analysts.jury.rubric import Rubric
from agent_evo_dagster.analysts.protocol import Model
from agent_evo_dagster.analysts.types import Asked, Prompt
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError
from agent_evo_dagster.patches.evidence import Cost
from agent_evo_dagster.patches.llm import Comparison, Hearing


@dataclass(frozen=True, slots=True)
class Question:
    """One question in one order, and the hash that its answer is kept under."""

    prompt: Prompt[Votes]
    request: str
    swapped: bool


@dataclass(slots=True)
class Panel:
    """One model with a rubric; `folder` keeps the answers, `meter` counts what is asked anew."""

    model: Model
    rubric: Rubric
    folder: Path
    meter: Meter
    told: set[str] = field(default_factory=set)  # the models that answered, as the service names them

    def questions(self, exhibit: Exhibit, samples: int, *scope: object) -> list[Question]:
        """Both orders of each comparison in turn; `scope` tells questions apart that look alike."""
        prompts = [(build_question(exhibit, self.rubric, swapped=turn), turn) for turn in (False, True)]
        return [
            Question(prompt, request_of(self.model, prompt, *scope, sample), swapped)
            for sample in range(samples)
            for prompt, swapped in prompts
        ]

    def open(self, questions: Sequence[Question]) -> list[Question]:
        """Those that have to be asked; none of a comparison that is known to have ended early."""
        if record.find_end(self.folder, self._end(questions)) is not None:
            return []
        return [one for one in questions if self._kept(one) is None]

    def answers(self, questions: Iterable[Question]) -> Iterator[Asked[Votes]]:
        """The answer to each question: the one on record, else asked, and kept.

        Raises:
            AnalystError: not answered as asked, or by more than one model.
            AnalystBudgetError: the budget does not reach; what was answered is kept.
        """
        for one in questions:
            found = self._kept(one)
            if found is None:
                found = ask(self.model, one.prompt, self.meter)
                record.keep(self.folder, one.request, self.model, found)
            self._same_model(found)
            yield found

    def hear(self, exhibit: Exhibit, samples: int, questions: Sequence[Question]) -> Hearing:
        """What the model says of an exhibit; where the budget ends, what it has said until then.

        An end is on record like an answer: with the same budget, the same is not tried again.

        Raises:
            AnalystError: not answered as asked, or by more than one model.
        """
        end = self._end(questions)
        stopped = record.find_end(self.folder, end)
        found: list[Asked[Votes]] = []
        try:
            for answer in self.answers(self._begun(questions) if stopped else questions):
                found.append(answer)  # noqa: PERF402 (what came before an end stays)
        except AnalystBudgetError as error:
            stopped = str(error)
            record.keep_end(self.folder, end, stopped)
        return self.hearing(exhibit, samples, found, stopped)

    def hearing(
        self, exhibit: Exhibit, samples: int, found: Sequence[Asked[Votes]], stopped: str | None = None
    ) -> Hearing:
        """What the answers say together; one without its other order is no comparison."""
        forward = [one.answer.ballot("before", "after") for one in found[0::2]]
        backward = [one.answer.ballot("after", "before") for one in found[1::2]]
        pairs = zip(forward, backward, strict=False)
        return Hearing(
            service=self.model.analyst,
            model=", ".join(sorted(self.told)) or self.model.model,
            rubric=self.rubric.told,
            criteria=self.rubric.names,
            guards=self.rubric.guards,
            samples=samples,
            comparisons=tuple(Comparison(*pair) for pair in pairs),
            cost=_cost(found),
            failures=len(exhibit.failures),
            stopped_early=stopped,
        )

    def _kept(self, question: Question) -> Asked[Votes] | None:
        return record.find(self.folder, question.request, question.prompt.form)

    def _begun(self, questions: Iterable[Question]) -> Iterator[Question]:
        """The questions up to the first that was never answered."""
        for one in questions:
            if self._kept(one) is None:
                return
            yield one

    def _end(self, questions: Sequence[Question]) -> str:
        """The hash that an early end of these questions is kept under, with this budget."""
        budget = self.meter.budget
        bounds = [budget.calls, budget.tokens, budget.money, budget.seconds, budget.output_tokens]
        asked = json.dumps([[one.request for one in questions], bounds])
        return hashlib.sha256(asked.encode()).hexdigest()

    def _same_model(self, answer: Asked[Votes]) -> None:
        if answer.told is not None:
            self.told.add(answer.told)
        if len(self.told) > 1:
            raise AnalystError(
                f"{self.model.analyst} was asked for {self.model.model}, and several models answered: "
                f"{', '.join(sorted(self.told))}. Their votes are no one comparison. Name one of them, or "
                f"delete {self.folder} to ask again."
            )


def _cost(found: Sequence[Asked[Votes]]) -> Cost:
    """What the answers took, whenever they were given."""
    told = [one.usage.cost_usd for one in found if one.usage.cost_usd is not None]
    return Cost(
        tokens=sum(one.usage.tokens for one in found),
        calls=sum(one.usage.calls for one in found),
        usd=sum(told) if told else None,
    )
