"""The examiner of the judge `llm`: the estimate, the test of itself, then each patch. No verdict."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_evo_dagster.analysts.budget import Budget, Meter, answered, estimate, refuse_beyond, together
from agent_evo_dagster.analysts.jury.panel import Panel, Question
from agent_evo_dagster.analysts.jury.question import MAX_TEXT, Exhibit
from agent_evo_dagster.analysts.jury.rubric import shipped_knowns, shipped_rubric
from agent_evo_dagster.analysts.jury.self_test import known_questions, self_test
from agent_evo_dagster.analysts.protocol import Model, Tell
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.patches.change import patched_text
from agent_evo_dagster.patches.examiners import ExaminerRun
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.llm import NAME, Llm
from agent_evo_dagster.patches.naming import Trouble

_SHORT = 300  # tokens that an answer takes at least
NOTHING = "every answer is on record; nothing had to be asked"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a round knows around its patches: sections by skill and name, later failures by patch id."""

    sections: Mapping[tuple[str, str], str]
    failures: Mapping[str, tuple[Trouble, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class LlmExaminer:
    """Has `model` compare each patch `samples` times; `scope` is what it tests itself anew for: a round."""

    model: Model
    budget: Budget
    folder: Path
    samples: int
    scope: str
    around: Surroundings
    price: Price | None = None
    bounds_itself: bool = False  # the model is told its budget of money, and tells its cost
    sleep: Callable[[float], None] = time.sleep
    name: str = NAME

    def takes(self, case: Case) -> bool:
        """Prose whose texts can be shown whole."""
        texts = (case.base, patched_text(case.base, case.patch))
        return case.settings is None and max(map(len, texts)) <= MAX_TEXT

    def ready(self, cases: Sequence[Case]) -> None:
        """Whether the model can be asked, where something has to be.

        Raises:
            AnalystError: a key or a program is missing.
        """
        panel = self._panel()
        if self._open(panel, self._questions(panel, cases)):
            self.model.ready()

    def examine(self, cases: Sequence[Case], tell: Tell) -> tuple[Llm, ExaminerRun]:
        """Estimate, test the model, then have it compare.

        Raises:
            GateError: the model fails the test.
            AnalystBudgetError: the budget cannot reach, or ended in the test.
            AnalystError: no service, refused, cut off, or two answers that cannot be used.
        """
        panel = self._panel()
        questions = self._questions(panel, cases)
        expected = self._expected(self._open(panel, questions))
        tell(f"llm ({self.model.analyst}, {self.model.model or 'its own choice of model'}): {expected}")
        self_test(panel, shipped_knowns(), self.scope)
        heard = {
            case.patch.id: panel.hear(self._exhibit(case), self.samples, questions[case.patch.id])
            for case in cases
        }
        used = panel.meter.usage()
        run = ExaminerRun(
            judge=self.name,
            engine=self.model.analyst,
            model=", ".join(sorted(panel.told)) or self.model.model,
            calls=used.calls,
            tokens=used.tokens,
            cost_usd=used.cost_usd,
            seconds=used.seconds,
            estimate=expected,
        )
        return Llm(heard), run

    def _panel(self) -> Panel:
        meter = Meter(self.budget, self.price, sleep=self.sleep)
        return Panel(self.model, shipped_rubric(), self.folder, meter)

    def _questions(self, panel: Panel, cases: Sequence[Case]) -> dict[str, list[Question]]:
        """What there is to ask about each patch, by its id."""
        return {case.patch.id: panel.questions(self._exhibit(case), self.samples) for case in cases}

    def _exhibit(self, case: Case) -> Exhibit:
        skill, section = case.patch.skill, case.patch.target_section
        rest = {
            name: text for (of, name), text in self.around.sections.items() if of == skill and name != section
        }
        after = patched_text(case.base, case.patch)
        failures = self.around.failures.get(case.patch.id, ())
        return Exhibit(skill, section, case.base, after, rest, failures)

    def _open(self, panel: Panel, questions: Mapping[str, Sequence[Question]]) -> list[Question]:
        """What has to be asked, the test's questions among it."""
        groups = [known_questions(panel, known, self.scope) for known in shipped_knowns()]
        return [one for group in (*groups, *questions.values()) for one in panel.open(group)]

    def _expected(self, open_: Sequence[Question]) -> str:
        """The estimate in words; refused where the budget cannot even reach for short answers."""
        if not open_:
            return NOTHING
        sized = [(one.prompt, len(json.dumps(one.prompt.form.schema()))) for one in open_]
        least = together(answered(prompt, size, _SHORT, self.price) for prompt, size in sized)
        refuse_beyond(least, self.budget, told_by_service=self.bounds_itself)
        most = together(estimate(prompt, size, self.budget, self.price) for prompt, size in sized)
        return f"{len(open_)} questions, {most.line()}"
