"""An analyst that asks a model: estimate, question, an answer read strictly, and at most one repair."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from agent_evo_dagster.analysts import record
from agent_evo_dagster.analysts.answer import Answer, answer_schema, read_answer
from agent_evo_dagster.analysts.budget import Budget, Meter, estimate, refuse_beyond
from agent_evo_dagster.analysts.prompt import build_prompt, repair
from agent_evo_dagster.analysts.protocol import Model, Tell
from agent_evo_dagster.analysts.types import Analysis, AnalystRun, Estimate, Material, Prompt, Usage
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.errors import AnalystError


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
        request = self._request(prompt)
        known = record.find(self.folder, request)
        if known is not None:
            tell(f"{run.analyst}: the answer to this very question is on record; nothing is asked")
            return _analysis(
                known.answer, replace(run, repaired=known.repaired, recorded=True, request=request)
            )
        expected = self._expected(prompt, tell)
        meter = Meter(self.budget, self.price, sleep=self.sleep)
        answer, repaired = self._ask(prompt, meter)
        usage = meter.usage()
        record.keep(self.folder, request, self._recorded(answer, repaired, usage))
        run = replace(run, estimate=expected, usage=usage, repaired=repaired, request=request)
        return _analysis(answer, run)

    def _expected(self, prompt: Prompt, tell: Tell) -> Estimate:
        """The estimate, told; refused where it is beyond the budget, or the model cannot be asked."""
        expected = estimate(prompt, len(json.dumps(answer_schema())), self.budget, self.price)
        tell(f"{self.model.analyst} ({self.model.model or 'its own choice of model'}): {expected.line()}")
        refuse_beyond(expected, self.budget, told_by_service=self.bounds_itself)
        self.model.ready()
        return expected

    def _ask(self, prompt: Prompt, meter: Meter) -> tuple[Answer, bool]:
        reply = self.model.ask(prompt, meter)
        meter.count(reply, prompt)
        answer = read_answer(reply.text)
        if isinstance(answer, Answer):
            return answer, False
        again = repair(prompt, reply.text, answer)
        second = self.model.ask(again, meter)
        meter.count(second, again)
        repaired = read_answer(second.text)
        if isinstance(repaired, Answer):
            return repaired, True
        raise AnalystError(
            f"{self.model.analyst} ({self.model.model}) answered twice with what cannot be used: first "
            f"{answer}; then {repaired}. Try again, or another model: AGENT_EVO_ANALYST_MODEL."
        )

    def _request(self, prompt: Prompt) -> str:
        asked = [self.model.analyst, self.model.model, prompt.system, prompt.turns, answer_schema()]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def _recorded(self, answer: Answer, repaired: bool, usage: Usage) -> record.Recorded:
        return record.Recorded(
            analyst=self.model.analyst,
            model=self.model.model,
            answer=answer,
            repaired=repaired,
            calls=usage.calls,
            tokens=usage.tokens,
            cost_usd=usage.cost_usd,
        )


def _analysis(answer: Answer, run: AnalystRun) -> Analysis:
    return Analysis(answer.drafts(), answer.observations(), run)
