"""The vocabulary of analysts: what they are given, what they give back, and what it took. No requests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

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
class Prompt:
    """What a model is asked: instructions, then turns that begin with the user's and alternate."""

    system: str
    turns: tuple[str, ...]

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


@dataclass(frozen=True, slots=True)
class Usage:
    """What an analysis took."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None  # None: nobody told a price
    seconds: float = 0.0


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
    estimate: Estimate | None = None
    usage: Usage = Usage()
    repaired: bool = False  # the first answer was not usable, the second was
    recorded: bool = False  # the answer is one that was given before, to the same question
    request: str | None = None  # hash of all that was asked


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an analyst gives back; `drafts` is None where the rules of patches are to propose."""

    drafts: tuple[Draft, ...] | None
    observations: tuple[Observation, ...]
    run: AnalystRun
