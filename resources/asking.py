"""What every resource that asks a model is given: the model, where it is, bounds. Nothing is asked."""

from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.registry import Choice


class AskingResource(dg.ConfigurableResource[Any]):
    """One model to ask; `folder` keeps its answers. Money is in US dollars; keys stay in the environment."""

    folder: str
    model: str | None = None
    url: str | None = None
    key_env: str | None = None
    prices: str | None = None
    money: float | None = None
    tokens: int
    seconds: float
    output_tokens: int

    def choice(self, service: str | None, budget: Budget) -> Choice:
        """The model of `service` that is to be asked, within `budget`; None: no service is named."""
        return Choice(
            analyst=service,
            model=self.model,
            url=self.url,
            key_env=self.key_env,
            budget=budget,
            prices=Path(self.prices) if self.prices else None,
            folder=Path(self.folder),
        )
