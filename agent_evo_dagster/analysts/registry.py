"""The analysts by name, made from settings. Nothing is asked here."""

from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.analysts.anthropic import KEY_VARIABLE as ANTHROPIC_KEY
from agent_evo_dagster.analysts.anthropic import URL as ANTHROPIC_URL
from agent_evo_dagster.analysts.anthropic import AnthropicModel
from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.claude_code import ClaudeCodeModel
from agent_evo_dagster.analysts.http import Key
from agent_evo_dagster.analysts.openai import KEY_VARIABLE as OPENAI_KEY
from agent_evo_dagster.analysts.openai import URL as OPENAI_URL
from agent_evo_dagster.analysts.openai import OpenAiModel
from agent_evo_dagster.analysts.prompted import Prompted
from agent_evo_dagster.analysts.protocol import Analyst, Model
from agent_evo_dagster.analysts.rules import Rules
from agent_evo_dagster.capture.usage import read_prices
from agent_evo_dagster.errors import SettingsError

NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which analyst is wanted, and what it needs."""

    analyst: str  # rules, anthropic, openai or claude_code
    model: str | None
    url: str | None
    key_env: str | None  # name of the variable with the key; NO_KEY for a server without keys
    budget: Budget
    prices: Path | None
    folder: Path  # of the answers that are kept


def analyst_of(choice: Choice) -> Analyst:
    """The analyst that was chosen.

    Raises:
        SettingsError: it needs a model's name, and none is given.
        CaptureError: the table of prices cannot be read.
    """
    if choice.analyst == "rules":
        return Rules()
    model = _model(choice)
    price = read_prices(choice.prices).get(model.model or "") if choice.prices else None
    bounds_itself = choice.analyst == "claude_code"
    return Prompted(model, choice.budget, choice.folder, price, bounds_itself)


def _model(choice: Choice) -> Model:
    if choice.analyst == "claude_code":
        return ClaudeCodeModel(choice.model)
    if not choice.model:
        raise SettingsError(
            f"AGENT_EVO_ANALYST={choice.analyst} was asked for without a model. "
            "Name one of the service: AGENT_EVO_ANALYST_MODEL=NAME"
        )
    if choice.analyst == "anthropic":
        return AnthropicModel(choice.model, _key(choice, ANTHROPIC_KEY), choice.url or ANTHROPIC_URL)
    if choice.analyst != "openai":
        raise SettingsError(
            f"The analyst {choice.analyst!r} was asked for; there are rules, anthropic, openai, claude_code."
        )
    return OpenAiModel(choice.model, _key(choice, OPENAI_KEY), choice.url or OPENAI_URL)


def _key(choice: Choice, usual: str) -> Key:
    return Key(None) if choice.key_env == NO_KEY else Key(choice.key_env or usual)
