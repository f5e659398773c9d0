"""An answer on record is the answer to the very same question, put to the very same model."""

from dataclasses import dataclass, replace

import pytest

from agent_evo_dagster.analysts.asking import request_of
from agent_evo_dagster.analysts.budget import Meter
from agent_evo_dagster.analysts.forms import A, Form, StrictAnswer
from agent_evo_dagster.analysts.types import Prompt, Reply


@dataclass(frozen=True)
class Named:
    """Who is asked; it does not answer."""

    analyst: str = "openai"
    model: str | None = "m"

    def ready(self) -> None: ...

    def ask(self, prompt: Prompt[A], meter: Meter) -> Reply:
        raise NotImplementedError


class Word(StrictAnswer):
    word: str


class Words(StrictAnswer):
    word: str
    other: str


WHO = Named()
ASKED = Prompt("Be short.", ("Which?",), Form("answer", Word))


def test_the_same_question_to_the_same_model_has_the_same_hash():
    assert request_of(Named(), replace(ASKED), "round-0001", 1) == request_of(WHO, ASKED, "round-0001", 1)


@pytest.mark.parametrize(
    ("who", "prompt", "more"),
    [
        (Named(analyst="anthropic"), ASKED, ()),
        (Named(model="n"), ASKED, ()),
        (Named(model=None), ASKED, ()),
        (WHO, replace(ASKED, system="Be long."), ()),
        (WHO, replace(ASKED, turns=("Which one?",)), ()),
        (WHO, replace(ASKED, turns=("Which?", "This.", "Sure?")), ()),
        (WHO, replace(ASKED, form=Form("answer", Words)), ()),
        (WHO, ASKED, (1,)),
    ],
)
def test_whatever_is_another_makes_it_another_question(who, prompt, more):
    assert request_of(who, prompt, *more) != request_of(WHO, ASKED)
