"""The judges beside probe and replay, as Dagster sees them. Keys stay in the environment."""

from typing import Any

import dagster as dg

from agent_evo_dagster.analysts.budget import JUDGING, Budget
from agent_evo_dagster.analysts.jury.examiner import LlmExaminer, Surroundings
from agent_evo_dagster.analysts.registry import model_of, price_of
from resources.asking import AskingResource


class JudgesResource(dg.ConfigurableResource[Any]):
    """The optional judges by name; what each needs is a resource of its own."""

    names: list[str]


class LlmJudgeResource(AskingResource):
    """The model that the judge `llm` asks."""

    service: str | None = None
    calls: int
    samples: int

    def examiner(self, scope: str, around: Surroundings) -> LlmExaminer:
        """The examiner of one round, `scope`.

        Raises:
            SettingsError: no service is named, or it needs a model's name.
            CaptureError: the table of prices cannot be read.
        """
        budget = Budget(self.calls, self.tokens, self.money, self.seconds, self.output_tokens, JUDGING)
        choice = self.choice(self.service, budget)
        return LlmExaminer(
            model=model_of(choice),
            budget=choice.budget,
            folder=choice.folder,
            samples=self.samples,
            scope=scope,
            around=around,
            price=price_of(choice),
            bounds_itself=choice.bounds_itself,
        )
