"""What an analysis may take: the bounds, the estimate before, and the count while it runs. No requests."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_evo_dagster.analysts.types import Estimate, Prompt, Reply, Usage
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.errors import AnalystBudgetError

ANSWERS = 2  # the first, and one repair
_CHARACTERS = 2.5  # of a token, at the least that English and JSON take on average
_OVERHEAD = 300  # tokens that a service adds to a prompt
_HINT = "Raise AGENT_EVO_ANALYST_{}, or leave AGENT_EVO_ANALYST at rules."


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one analysis may take."""

    calls: int = 6  # tries included
    tokens: int = 120_000
    money: float | None = None  # US dollars; None: bounded by tokens alone
    seconds: float = 300.0
    output_tokens: int = 8000  # of one answer


def tokens_of(characters: int) -> int:
    """About how many tokens a text takes, rather too many."""
    return math.ceil(characters / _CHARACTERS)


def cost_of(price: Price | None, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars; None without a price."""
    return None if price is None else (price.input * input_tokens + price.output * output_tokens) / 1e6


def estimate(prompt: Prompt, extra: int, budget: Budget, price: Price | None) -> Estimate:
    """The most that a prompt, with `extra` characters such as a schema, takes when its answer is repaired."""
    first = tokens_of(prompt.characters + extra) + _OVERHEAD
    read = first + first + budget.output_tokens + _OVERHEAD  # a repair is shown the answer, too
    written = ANSWERS * budget.output_tokens
    return Estimate(ANSWERS, read + written, cost_of(price, read, written))


def refuse_beyond(expected: Estimate, budget: Budget, *, told_by_service: bool) -> None:
    """Refuse what could take more than the budget; a service that bounds its own cost needs no price.

    Raises:
        AnalystBudgetError: it could.
    """
    if expected.calls > budget.calls:
        _refuse(f"{expected.calls} answers", f"{budget.calls} calls", "CALLS")
    if expected.tokens > budget.tokens:
        _refuse(f"{expected.tokens} tokens", f"{budget.tokens}", "TOKENS")
    if budget.money is None or told_by_service:
        return
    if expected.cost_usd is None:
        raise AnalystBudgetError(
            f"The analysis may cost {budget.money} USD, and the model has no price. Give one in the table of "
            "AGENT_EVO_PRICES (0 for a server of your own), or unset AGENT_EVO_ANALYST_MONEY."
        )
    if expected.cost_usd > budget.money:
        _refuse(f"{expected.cost_usd:.4f} USD", f"{budget.money}", "MONEY")


def _refuse(needed: str, allowed: str, variable: str) -> None:
    raise AnalystBudgetError(
        f"The analysis may take {needed}, and its budget is {allowed}; nothing was asked. "
        f"{_HINT.format(variable)}"
    )


@dataclass(slots=True)
class Meter:
    """What an analysis has taken so far."""

    budget: Budget
    price: Price | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def left(self) -> float:
        """Seconds that are left."""
        return self.budget.seconds - (self.clock() - self.began)

    def money_left(self) -> float | None:
        """US dollars that are left; None without a bound."""
        return None if self.budget.money is None else self.budget.money - (self.cost_usd or 0.0)

    def begin(self) -> float:
        """Count one more call; the seconds that it may take.

        Raises:
            AnalystBudgetError: calls, time or money are spent.
        """
        if self.calls >= self.budget.calls:
            _spent(f"all {self.budget.calls} calls", "CALLS")
        if self.left() <= 0:
            _spent(f"all {self.budget.seconds:g} seconds", "SECONDS")
        money = self.money_left()
        if money is not None and money <= 0 and self.cost_usd:
            _spent(f"{self.cost_usd:.4f} USD", "MONEY")
        self.calls += 1
        return self.left()

    def wait(self, seconds: float, why: str) -> None:
        """Sleep before another try.

        Raises:
            AnalystBudgetError: there is no time, or no call, for another.
        """
        if self.calls >= self.budget.calls:
            _spent(f"all {self.budget.calls} calls; the last answer was {why}", "CALLS")
        if seconds >= self.left():
            _spent(f"its time: {why}, and the next try in {seconds:g} s is beyond it", "SECONDS")
        self.sleep(seconds)

    def count(self, reply: Reply, prompt: Prompt) -> None:
        """Count what a reply took; what the service does not tell is reckoned from the texts.

        Raises:
            AnalystBudgetError: more tokens or money than the budget has; the answer is not used.
        """
        read, written = reply.input_tokens, reply.output_tokens
        read = tokens_of(prompt.characters) if read is None else read
        written = tokens_of(len(reply.text)) if written is None else written
        self.tokens += read + written
        cost = reply.cost_usd if reply.cost_usd is not None else cost_of(self.price, read, written)
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost
        if self.tokens > self.budget.tokens:
            _spent(f"{self.tokens} of {self.budget.tokens} tokens", "TOKENS")
        money = self.money_left()
        if money is not None and money < 0:
            _spent(f"{self.cost_usd:.4f} of {self.budget.money} USD", "MONEY")

    def usage(self) -> Usage:
        """What was taken."""
        return Usage(self.calls, self.tokens, self.cost_usd, round(self.budget.seconds - self.left(), 3))


def _spent(what: str, variable: str) -> None:
    raise AnalystBudgetError(f"The analysis took {what}, and has no patches yet. {_HINT.format(variable)}")
