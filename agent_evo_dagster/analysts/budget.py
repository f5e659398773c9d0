"""What an analysis may take: the bounds, the estimate before, and the count while it runs. No requests."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NoReturn

from agent_evo_dagster.analysts.forms import A
from agent_evo_dagster.analysts.types import Estimate, Prompt, Reply, Usage
from agent_evo_dagster.capture.usage import Price
from agent_evo_dagster.errors import AnalystBudgetError

ANSWERS = 2  # the first, and one repair
_CHARACTERS = 2.5  # of a token, at the least that English and JSON take on average
_OVERHEAD = 300  # tokens that a service adds to a prompt


@dataclass(frozen=True, slots=True)
class Names:
    """What messages call the work, and the settings that it is done by."""

    work: str = "The analysis"
    prefix: str = "AGENT_EVO_ANALYST"  # of the variables
    instead: str = "leave AGENT_EVO_ANALYST at rules"  # what else a person can do

    def hint(self, variable: str) -> str:
        """What to do where the bound of a variable is met."""
        return f"Raise {self.prefix}_{variable}, or {self.instead}."


ANALYSIS: Final = Names()
JUDGING: Final = Names("The judging", "AGENT_EVO_JUDGE", "leave llm out of AGENT_EVO_JUDGES")
ROLLOUTS: Final = Names("The rollout", "AGENT_EVO_ROLLOUT", "leave rollout out of AGENT_EVO_JUDGES")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one analysis, or one round's judging, may take."""

    calls: int = 6  # tries included
    tokens: int = 120_000
    money: float | None = None  # US dollars; None: bounded by tokens alone
    seconds: float = 300.0
    output_tokens: int = 8000  # of one answer
    names: Names = ANALYSIS


def tokens_of(characters: int) -> int:
    """About how many tokens a text takes, rather too many."""
    return math.ceil(characters / _CHARACTERS)


def cost_of(price: Price | None, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars; None without a price."""
    return None if price is None else (price.input * input_tokens + price.output * output_tokens) / 1e6


def answered(prompt: Prompt[A], extra: int, written: int, price: Price | None) -> Estimate:
    """What a prompt, with `extra` characters such as a schema, takes with one answer of `written` tokens."""
    read = tokens_of(prompt.characters + extra) + _OVERHEAD
    return Estimate(1, read + written, cost_of(price, read, written))


def together(parts: Iterable[Estimate]) -> Estimate:
    """The sum of estimates; without a cost where one of them has none."""
    every = list(parts)
    costs = [one.cost_usd for one in every if one.cost_usd is not None]
    cost = math.fsum(costs) if len(costs) == len(every) else None
    return Estimate(sum(one.calls for one in every), sum(one.tokens for one in every), cost)


def estimate(prompt: Prompt[A], extra: int, budget: Budget, price: Price | None) -> Estimate:
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
        _refuse(budget.names, f"{expected.calls} answers", f"{budget.calls} calls", "CALLS")
    if expected.tokens > budget.tokens:
        _refuse(budget.names, f"{expected.tokens} tokens", f"{budget.tokens}", "TOKENS")
    if budget.money is None or told_by_service:
        return
    if expected.cost_usd is None:
        raise no_price(budget)
    if expected.cost_usd > budget.money:
        _refuse(budget.names, f"{expected.cost_usd:.4f} USD", f"{budget.money}", "MONEY")


def no_price(budget: Budget, model: str | None = None) -> AnalystBudgetError:
    """What is wrong with a bound of money that nobody could keep."""
    named = f"the model {model}" if model else "the model"
    return AnalystBudgetError(
        f"{budget.names.work} may cost {budget.money} USD, and {named} has no price. Give one in the "
        f"table of AGENT_EVO_PRICES (0 for a server of your own), or unset {budget.names.prefix}_MONEY."
    )


def _refuse(names: Names, needed: str, allowed: str, variable: str) -> None:
    raise AnalystBudgetError(
        f"{names.work} may take {needed}, and its budget is {allowed}; nothing was asked. "
        f"{names.hint(variable)}"
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
            self._spent(f"all {self.budget.calls} calls", "CALLS")
        if self.left() <= 0:
            self._spent(f"all {self.budget.seconds:g} seconds", "SECONDS")
        money = self.money_left()
        if money is not None and money <= 0 and self.cost_usd:
            self._spent(f"{self.cost_usd:.4f} USD", "MONEY")
        self.calls += 1
        return self.left()

    def wait(self, seconds: float, why: str) -> None:
        """Sleep before another try.

        Raises:
            AnalystBudgetError: there is no time, or no call, for another.
        """
        if self.calls >= self.budget.calls:
            self._spent(f"all {self.budget.calls} calls; the last answer was {why}", "CALLS")
        if seconds >= self.left():
            self._spent(f"its time: {why}, and the next try in {seconds:g} s is beyond it", "SECONDS")
        self.sleep(seconds)

    def count(self, reply: Reply, prompt: Prompt[A]) -> None:
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
            self._spent(f"{self.tokens} of {self.budget.tokens} tokens", "TOKENS")
        money = self.money_left()
        if money is not None and money < 0:
            self._spent(f"{self.cost_usd:.4f} of {self.budget.money} USD", "MONEY")

    def _spent(self, what: str, variable: str) -> NoReturn:
        names = self.budget.names
        raise AnalystBudgetError(f"{names.work} took {what}, and is not done. {names.hint(variable)}")

    def usage(self) -> Usage:
        """What was taken."""
        return Usage(self.calls, self.tokens, self.cost_usd, round(self.budget.seconds - self.left(), 3))
