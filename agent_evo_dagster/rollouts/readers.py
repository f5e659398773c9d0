"""The readers by name, made from settings. Nothing is read here."""

from agent_evo_dagster.analysts.registry import Choice, model_of, price_of
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.rollouts.client_reader import ClientReader
from agent_evo_dagster.rollouts.model_reader import ModelReader
from agent_evo_dagster.rollouts.protocol import Reader


def reader_of(choice: Choice) -> Reader:
    """The reader that was chosen: the client, or a model.

    Raises:
        SettingsError: the service needs a model's name, or a bound of money needs a price.
        CaptureError: the table of prices cannot be read.
    """
    if choice.analyst == "claude_code":
        return ClientReader(choice.model)
    model, price, budget = model_of(choice), price_of(choice), choice.budget
    if budget.money is not None and price is None:
        raise SettingsError(
            f"The rollouts may cost {budget.money} USD, and the model {choice.model} has no price. Give one "
            "in the table of AGENT_EVO_PRICES (0 for a server of your own), or unset "
            "AGENT_EVO_ROLLOUT_MONEY."
        )
    return ModelReader(model, budget.names, budget.output_tokens, price)
