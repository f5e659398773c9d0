"""The judge `rollout` as Dagster sees it: who reads the texts, and what it may take. No keys."""

from pathlib import Path

from agent_evo_dagster.analysts.budget import ROLLOUTS
from agent_evo_dagster.analysts.budget import Budget as AskingBudget
from agent_evo_dagster.rollouts.examiner import Material, RolloutExaminer
from agent_evo_dagster.rollouts.protocol import Reader
from agent_evo_dagster.rollouts.readers import reader_of
from agent_evo_dagster.rollouts.types import Budget
from agent_evo_dagster.skills.bank import SkillBank
from resources.asking import AskingResource

CLIENT_MONEY = 20.0  # US dollars


class RolloutJudgeResource(AskingResource):
    """Who does tasks with two texts of a skill; `tasks` are the bank's, `folder` keeps what came of them."""

    tasks: str
    reader: str
    samples: int | None = None
    workers: int = 1

    def examiner(self, bank: SkillBank, key: str, kept: Path) -> RolloutExaminer:
        """The examiner of the round `key`, which read `bank`; `kept` is its folder for the tasks it used.

        Raises:
            SettingsError: the service needs a model's name, or a bound of money needs a price.
            CaptureError: the table of prices cannot be read.
        """
        return RolloutExaminer(
            reader=self._reader(),
            budget=Budget(self.seconds, self.tokens, self._money()),
            material=Material(bank, Path(self.tasks), key, kept, Path(self.folder)),
            samples=self.samples,
            workers=self.workers,
        )

    def _money(self) -> float | None:
        """The bound; the client, which tells its cost, has one always."""
        return CLIENT_MONEY if self.money is None and self.reader == "claude_code" else self.money

    def _reader(self) -> Reader:
        budget = AskingBudget(money=self.money, output_tokens=self.output_tokens, names=ROLLOUTS)
        return reader_of(self.choice(self.reader, budget))
