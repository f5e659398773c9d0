"""An analyst that asks a model: the estimate before, the question, and the answer made drafts."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from agent_evo_dagster.analysts import record
from agent_evo_dagster.analysts.answer import Answer
from agent_evo_dagster.analysts.asking import ask, request_of
from agent_evo_dagster.analysts.budget import Budget, Meter, estimate, refuse_beyond
from agent_evo_dagster.analysts.prompt import build_prompt
from agent_evo_dagster.analysts.protocol import Model, Tell
from agent_evo_dagster.analysts.types import Analysis, AnalystRun, Asked, Estimate, Material, Prompt, Usage
from agent_evo_dagster.capture.usage import Price


@dataclass(frozen=True)
class Prompted:
    """Asks `model` within `budget`; `folder` keeps the answers."""

    model: Model
    budget: Budget
    folder: Path
    price: Price | None = None
    bounds_itself: bool = False  # the model is told its budget of money, and tells its cost
    sleep: Callable[[float], None] = time.sleep

    def analyse(self, material: Material, tell: Tell) -> Analysis:
        """Ask once, and once more where the answer cannot be used; without findings nothing is asked.

        Raises:
            AnalystError: no key, no service, refused, cut off, or two answers that cannot be used.
            AnalystBudgetError: it could take, or took, more than the budget.
        """
        run = AnalystRun(self.model.analyst, self.model.model)
        if material.findings.is_empty():
            return Analysis((), (), run)
        prompt = build_prompt(material)
        request = request_of(self.model, prompt)
        known = record.find(self.folder, request, prompt.form)
        if known is not None:
            tell(f"{run.analyst}: the answer to this very question is on record; nothing is asked")
            return _analysis(known, replace(run, usage=Usage(), recorded=True, request=request))
        expected = self._expected(prompt, tell)
        asked = ask(self.model, prompt, Meter(self.budget, self.price, sleep=self.sleep))
        record.keep(self.folder, request, self.model, asked)
        return _analysis(asked, replace(run, estimate=expected, usage=asked.usage, request=request))

    def _expected(self, prompt: Prompt[Answer], tell: Tell) -> Estimate:
        """The estimate, told; refused where it is beyond the budget, or the model cannot be asked."""
        expected = estimate(prompt, len(json.dumps(prompt.form.schema())), self.budget, self.price)
        tell(f"{self.model.analyst} ({self.model.model or 'its own choice of model'}): {expected.line()}")
        refuse_beyond(expected, self.budget, told_by_service=self.bounds_itself)
        self.model.ready()
        return expected


def _analysis(asked: Asked[Answer], run: AnalystRun) -> Analysis:
    answer = asked.answer
    told = replace(run, told=asked.told, repaired=asked.repaired, took=asked.usage)
    return Analysis(answer.drafts(), answer.observations(), told)
