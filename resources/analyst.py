"""The analyst as Dagster sees it: which one, its model and budget. Keys stay in the environment."""

from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.analysts.protocol import Analyst
from agent_evo_dagster.analysts.registry import analyst_of
from resources.asking import AskingResource


class AnalystResource(AskingResource):
    """The analyst that drafts patches."""

    analyst: str
    calls: int

    def chosen(self) -> Analyst:
        """The analyst.

        Raises:
            SettingsError: it is none, or it needs a model's name.
        """
        budget = Budget(self.calls, self.tokens, self.money, self.seconds, self.output_tokens)
        return analyst_of(self.choice(self.analyst, budget))
