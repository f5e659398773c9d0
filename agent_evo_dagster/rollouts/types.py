"""The vocabulary of rollouts: one attempt at a task, and what is left to spend. No running."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Finish = Literal["stop", "tool_limit", "timeout", "infra_error"]


class Attempt(BaseModel):
    """One task done, or not, with one text of a skill; kept as JSON unless it was lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    done: bool | None = Field(description="Null where it was lost: nobody knows.")
    finish: Finish
    calls: int = Field(1, ge=0)
    tokens: int = Field(0, ge=0)
    cost_usd: FiniteFloat | None = Field(None, ge=0, description="Null where nobody told it.")
    most_usd: FiniteFloat | None = Field(None, ge=0, description="What it may have cost, where nobody told.")
    seconds: FiniteFloat = Field(0.0, ge=0)
    models: tuple[str, ...] = Field((), description="Those that answered, as they are told.")
    why: str = Field("", description="Why it was lost.")
    ended: bool = Field(False, description="Lost since what was left to spend did not reach.")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that all rollouts of one round may take; also what is left of it."""

    seconds: float
    tokens: int
    money: float | None = None  # US dollars; None: no bound
