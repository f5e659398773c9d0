"""The analyst as Dagster sees it: which one, its model and budget. Keys stay in the environment."""

from pathlib import Path
from typing import Any

import dagster as dg

from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.protocol import Analyst
from agent_evo_dagster.analysts.registry import Choice, analyst_of


class AnalystResource(dg.ConfigurableResource[Any]):
    """The analyst that drafts patches; `folder` keeps its answers. Money is in US dollars."""

    folder: str
    analyst: str
    model: str | None = None
    url: str | None = None
    key_env: str | None = None
    prices: str | None = None
    money: float | None = None
    calls: int
    tokens: int
    seconds: float
    output_tokens: int

    def chosen(self) -> Analyst:
        """The analyst.

        Raises:
            SettingsError: it is none, or it needs a model's name.
        """
        return analyst_of(
            Choice(
                analyst=self.analyst,
                model=self.model,
                url=self.url,
                key_env=self.key_env,
                budget=Budget(self.calls, self.tokens, self.money, self.seconds, self.output_tokens),
                prices=Path(self.prices) if self.prices else None,
                folder=Path(self.folder),
            )
        )
