"""The analysts by name, made from settings. Nothing is asked here."""

from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysts.anthropic import KEY_VARIABLE as ANTHROPIC_KEY
from agent_evo_dagster.analysts.anthropic import URL as ANTHROPIC_URL
from agent_evo_dagster.analysts.anthropic import AnthropicModel
from agent_evo_dagster.analysts.budget import Budget, no_price
from agent_evo_dagster.analysts.claude_code import ClaudeCodeModel
from agent_evo_dagster.analysts.http import Key
from agent_evo_dagster.analysts.openai import KEY_VARIABLE as OPENAI_KEY
from agent_evo_dagster.analysts.openai import URL as OPENAI_URL
from agent_evo_dagster.analysts.openai import OpenAiModel
from agent_evo_dagster.analysts.prompted import Prompted
from agent_evo_dagster.analysts.protocol import Analyst, Model
from agent_evo_dagster.analysts.rules import Rules
from agent_evo_dagster.capture.usage import Price, read_prices
from agent_evo_dagster.errors import SettingsError

NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which analyst is wanted, and what it needs."""

    analyst: str | None  # rules, anthropic, openai or claude_code; None: no service is named
    model: str | None
    url: str | None
    key_env: str | None  # name of the variable with the key; NO_KEY for a server without keys
    budget: Budget
    prices: Path | None
    folder: Path  # of the answers that are kept

    @property
    def bounds_itself(self) -> bool:
        """Whether the model is told its budget of money, and tells its cost."""
        return self.analyst == "claude_code"


def analyst_of(choice: Choice) -> Analyst:
    """The analyst that was chosen.

    Raises:
        SettingsError: it needs a model's name, and none is given.
        CaptureError: the table of prices cannot be read.
    """
    if choice.analyst == "rules":
        return Rules()
    model = model_of(choice)
    return Prompted(model, choice.budget, choice.folder, price_of(choice), choice.bounds_itself)


def price_of(choice: Choice) -> Price | None:
    """The price of the model that was chosen, where the table has one.

    Raises:
        CaptureError: the table of prices cannot be read.
    """
    return read_prices(choice.prices).get(choice.model or "") if choice.prices else None


def bounding_price(choice: Choice) -> Price | None:
    """The price of the model that was chosen; None where its budget of money needs none.

    Raises:
        CaptureError: the table of prices cannot be read.
        AnalystBudgetError: a bound of money is given, and nobody could keep it.
    """
    price = price_of(choice)
    if choice.budget.money is not None and not choice.bounds_itself and price is None:
        raise no_price(choice.budget, choice.model)
    return price


def model_of(choice: Choice) -> Model:
    """The model that was chosen.

    Raises:
        SettingsError: it needs a name and none is given, or there is no such service.
    """
    if choice.analyst is None:
        raise SettingsError(
            "AGENT_EVO_JUDGES names llm, and no service that it asks. Name one: "
            "AGENT_EVO_JUDGE_SERVICE=anthropic, openai or claude_code."
        )
    if choice.analyst == "claude_code":
        return ClaudeCodeModel(choice.model, names=choice.budget.names)
    if not choice.model:
        raise SettingsError(
            f"{choice.budget.names.work} by {choice.analyst} was asked for without a model. "
            f"Name one of the service: {choice.budget.names.prefix}_MODEL=NAME"
        )
    if choice.analyst == "anthropic":
        return AnthropicModel(choice.model, _key(choice, ANTHROPIC_KEY), choice.url or ANTHROPIC_URL)
    if choice.analyst != "openai":
        raise SettingsError(
            f"The analyst {choice.analyst!r} was asked for; there are rules, anthropic, openai, claude_code."
        )
    return OpenAiModel(choice.model, _key(choice, OPENAI_KEY), choice.url or OPENAI_URL)


def require_ready(choice: Choice) -> None:
    """Refuse a choice whose model could not be asked; it is not asked here.

    Raises:
        AgentEvoError: a service, a model's name, a key, a program, a package or a price is missing.
    """
    model = model_of(choice)
    bounding_price(choice)  # a table that cannot be read ends the round, too
    model.ready()


def _key(choice: Choice, usual: str) -> Key:
    variable = None if choice.key_env == NO_KEY else choice.key_env or usual
    return Key(variable, choice.budget.names)
