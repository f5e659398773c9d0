"""The vocabulary of analysts: what they are given, what they give back, and what it took. No requests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic

import polars as pl

from agent_evo_dagster.analysts.forms import A, Form
from agent_evo_dagster.patches.drafts import Draft
from agent_evo_dagster.patches.propose import Sections


@dataclass(frozen=True, slots=True)
class Material:
    """What an analyst works on: findings (FINDING_SCHEMA), and the sections that rounds may edit."""

    findings: pl.DataFrame
    sections: Sections
    groups: Mapping[str, str]  # skill -> group
    protected: Collection[tuple[str, str]] = ()  # (skill, section) that no patch may touch


@dataclass(frozen=True, slots=True)
class Prompt(Generic[A]):
    """What a model is asked: instructions, turns that begin with the user's and alternate, and the form."""

    system: str
    turns: tuple[str, ...]
    form: Form[A]

    @property
    def characters(self) -> int:
        """The length of all of it."""
        return len(self.system) + sum(map(len, self.turns))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what the answer took; None where the service does not tell."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None  # where the service itself tells it
    model: str | None = None  # which model it was, as the service tells


@dataclass(frozen=True, slots=True)
class Usage:
    """What an analysis took."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None  # None: nobody told a price
    seconds: float = 0.0

    def since(self, before: "Usage") -> "Usage":
        """What was taken after `before`."""
        cost = None if self.cost_usd is None else self.cost_usd - (before.cost_usd or 0.0)
        calls, tokens = self.calls - before.calls, self.tokens - before.tokens
        return Usage(calls, tokens, cost, round(self.seconds - before.seconds, 3))


@dataclass(frozen=True, slots=True)
class Asked(Generic[A]):
    """A usable answer, and what it took; `told` is the model as the service names it."""

    answer: A
    repaired: bool
    told: str | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that an analysis may take, told before it begins."""

    calls: int
    tokens: int
    cost_usd: float | None

    def line(self) -> str:
        """In words."""
        cost = "no price is known" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        return f"at most {self.calls} answers, {self.tokens} tokens, {cost}"


@dataclass(frozen=True, slots=True)
class Observation:
    """A finding of an analyst's own, from the findings that it names."""

    summary: str
    findings: tuple[str, ...]
    skill: str | None
    section: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class AnalystRun:
    """What ran."""

    analyst: str
    model: str | None
    told: str | None = None  # the model that answered, as the service names it
    estimate: Estimate | None = None
    usage: Usage = Usage()  # what was taken now
    took: Usage = Usage()  # what the answer took, whenever it was given
    repaired: bool = False  # the first answer was not usable, the second was
    recorded: bool = False  # the answer is one that was given before, to the same question
    request: str | None = None  # hash of all that was asked


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an analyst gives back; `drafts` is None where the rules of patches are to propose."""

    drafts: tuple[Draft, ...] | None
    observations: tuple[Observation, ...]
    run: AnalystRun
