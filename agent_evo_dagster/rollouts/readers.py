"""The readers by name, made from settings. Nothing is read here."""

from agent_evo_dagster.analysts.registry import Choice, bounding_price, model_of
from agent_evo_dagster.rollouts.client_reader import ClientReader
from agent_evo_dagster.rollouts.model_reader import ModelReader
from agent_evo_dagster.rollouts.protocol import Reader


def reader_of(choice: Choice) -> Reader:
    """The reader that was chosen: the client, or a model.

    Raises:
        SettingsError: the service needs a model's name.
        AnalystBudgetError: a bound of money needs a price.
        CaptureError: the table of prices cannot be read.
    """
    if choice.analyst == "claude_code":
        return ClientReader(choice.model)
    model, price, budget = model_of(choice), bounding_price(choice), choice.budget
    return ModelReader(model, budget.names, budget.output_tokens, price)
