"""The vocabulary of rollouts: one attempt at a task, and what is left to spend. No running."""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

MOST_TOKENS: Final = 10**12  # of one attempt, and so the other bounds: what is more is no count
MOST_USD: Final = 1e6
_MOST_CALLS: Final = 10**6
_MOST_SECONDS: Final = 1e7
Finish = Literal["stop", "tool_limit", "timeout", "infra_error"]


class Attempt(BaseModel):
    """One task done, or not, with one text of a skill; kept as JSON unless it was lost."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    done: bool | None = Field(description="Null where it was lost: nobody knows.")
    finish: Finish
    calls: int = Field(1, ge=0, le=_MOST_CALLS)
    tokens: int = Field(0, ge=0, le=MOST_TOKENS)
    cost_usd: FiniteFloat | None = Field(None, ge=0, le=MOST_USD, description="Null where nobody told it.")
    most_usd: FiniteFloat | None = Field(
        None, ge=0, le=MOST_USD, description="What it may have cost, where nobody told."
    )
    seconds: FiniteFloat = Field(0.0, ge=0, le=_MOST_SECONDS)
    models: tuple[str, ...] = Field((), description="Those that answered, as they are told.")
    why: str = Field("", description="Why it was lost.")
    ended: bool = Field(False, description="Lost since what was left to spend did not reach.")


def counted(tokens: int) -> int:
    """What somebody told, as it counts: what no attempt takes counts as the most, which ends any budget."""
    return min(tokens, MOST_TOKENS)


def paid(usd: float | None) -> float | None:
    """The same of US dollars."""
    return None if usd is None else min(usd, MOST_USD)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that all rollouts of one round may take; also what is left of it."""

    seconds: float
    tokens: int
    money: float | None = None  # US dollars; None: no bound
