"""One question put to a model: asked, read strictly, repaired at most once. No wording."""

import hashlib
import json

from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.protocol import Model
from agent_evo_dagster.analysts.types import Asked, Prompt
from agent_evo_dagster.errors import AnalystError


def request_of(model: Model, prompt: Prompt[A], *more: object) -> str:
    """The hash of all that is asked, of whom; `more` tells questions apart that are the same but for it."""
    asked = [model.analyst, model.model, prompt.system, prompt.turns, prompt.form.schema(), *more]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def ask(model: Model, prompt: Prompt[A], meter: Meter) -> Asked[A]:
    """Ask once, and once more where the answer cannot be used.

    Raises:
        AnalystError: not answered, or answered twice with what cannot be used.
        AnalystBudgetError: the budget of `meter` does not reach.
    """
    before = meter.usage()
    reply = model.ask(prompt, meter)
    meter.count(reply, prompt)
    answer, repaired = prompt.form.read(reply.text), False
    if isinstance(answer, str):
        again, first, repaired = repair(prompt, reply.text, answer), answer, True
        reply = model.ask(again, meter)
        meter.count(reply, again)
        answer = prompt.form.read(reply.text)
        if isinstance(answer, str):
            raise AnalystError(
                f"{model.analyst} ({model.model}) answered twice with what cannot be used: first {first}; "
                f"then {answer}. Try again, or another model: {meter.budget.names.prefix}_MODEL."
            )
    return Asked(answer, repaired, reply.model, meter.usage().since(before))


def repair(prompt: Prompt[A], answered: str, problem: str) -> Prompt[A]:
    """The question again, after an answer that cannot be used."""
    said = f"That answer cannot be used: {problem}. Give the whole answer again, as the schema says."
    return Prompt(prompt.system, (*prompt.turns, answered or "(nothing)", said), prompt.form)
