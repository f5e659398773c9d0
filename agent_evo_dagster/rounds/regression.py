"""When a round's policy got worse, what its skills were changed by since the round before goes out again.

The skills that a round reads differ from those that its parent read by the patches adopted in between. They
are what is taken out, on record, with the figures. Once a round has ended, making it again takes nothing out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from agent_evo_dagster.errors import EvaluationError, SkillBankError
from agent_evo_dagster.evaluation.summary import difference
from agent_evo_dagster.patches.ledger import POLICY, Ledger
from agent_evo_dagster.patches.records import RollbackRecord
from agent_evo_dagster.settings import RollbackScope
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.rollback import Rollback, roll_back_patch

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "patch_id": pl.String,
    "skill": pl.String,
    "result": pl.String,  # "rolled_back" | "kept" | "failed"
    "approved_by": pl.String,
    "reason": pl.String,
}
ROLLBACK_SCHEMA = pl.Schema(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Held-out accuracy, sampled: the policy after a round's training against the one that it began with."""

    regressed: bool
    told: str  # the figures, or why there are none
    difference: float | None = None
    low: float | None = None
    high: float | None = None


def outcome_of(evaluation: pl.DataFrame) -> Outcome:
    """Whether the whole interval of the paired difference lies below 0.

    A score that is missing or not finite counts as a regression: what cannot be shown to hold does not.
    """
    try:
        changes = difference(evaluation.filter(pl.col("mode") == "sampled"))
    except EvaluationError as error:
        return Outcome(True, f"scores are missing or not finite: {error}")
    rows = changes.filter(pl.col("measure") == "accuracy").rows(named=True)
    if not rows:
        return Outcome(True, "no sampled rollout was evaluated")
    (row,) = rows
    told = (
        f"held-out accuracy, sampled, {row['before']:.3f} -> {row['after']:.3f} on {row['tasks']} tasks, "
        f"difference {row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
    )
    return Outcome(row["high"] < 0, told, row["difference"], row["low"], row["high"])


@dataclass(frozen=True, slots=True)
class Undoing:
    """One round that asks what to take out: of the living `bank`, on the record of `ledger`."""

    key: str
    bank: SkillBank
    ledger: Ledger
    scope: RollbackScope
    now: datetime

    def undo(self, outcome: Outcome, suspects: Sequence[str]) -> pl.DataFrame:
        """Take out `suspects`, the last first (ROLLBACK_SCHEMA); nothing where the round did not regress."""
        chosen = [name for name in reversed(suspects) if outcome.regressed]
        rows = [row for name in chosen if (row := self._undo(name, outcome)) is not None]
        return pl.DataFrame(rows, schema=ROLLBACK_SCHEMA, orient="row")

    def _undo(self, name: str, outcome: Outcome) -> dict[str, str] | None:
        """The row of one patch; None where no decision on record let it in: a person wrote it."""
        decision, patch = self.ledger.decision(name), self.bank.active().get(name)
        if decision is None or decision.round is None:
            return None
        done = self._done(name)
        if patch is None:
            return None if done is None else self._row(done.skill, name, "rolled_back", done.reason)
        place = patch.skill, name
        if done is not None:
            return self._row(*place, "kept", f"{done.by} took it out of this round before; it is back since")
        if self.scope == "off" or (self.scope == "auto" and not decision.by.startswith(POLICY)):
            command = f"agent-evo skills rollback {name} --by NAME --reason TEXT"
            return self._row(*place, "kept", f"{decision.by} approved it; take it out with: {command}")
        reason = f"{self.key} got worse with it: {outcome.told}"
        asked = Rollback(f"{POLICY}regression", reason[:2000], self.now, round=self.key)
        try:
            roll_back_patch(self.bank, name, asked)
        except SkillBankError as error:
            return self._row(*place, "failed", str(error))
        return self._row(*place, "rolled_back", reason)

    def _done(self, name: str) -> RollbackRecord | None:
        """The record by which this round took the patch out."""
        records = (one for one in self.ledger.records() if isinstance(one, RollbackRecord))
        return next((one for one in records if one.round == self.key and name in one.removed), None)

    def _row(self, skill: str, name: str, result: str, reason: str) -> dict[str, str]:
        decision = self.ledger.decision(name)
        return {
            "patch_id": name,
            "skill": skill,
            "result": result,
            "approved_by": decision.by if decision else "",
            "reason": reason,
        }


def entered_since(before: SkillBank, then: SkillBank) -> tuple[str, ...]:
    """The patches that are part of the skills in `then` and were not in `before`, in the bank's order."""
    known = before.active()
    return tuple(name for name in then.active() if name not in known)
