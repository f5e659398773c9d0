"""The `rollout` judge, for prose: the same tasks done with the old and the new text, paired. It runs nothing.

Its rows are measured as those of a probe are. What makes it different is the patch: it is read by who is
measured, so one that gives the tasks away proves nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from agent_evo_dagster.patches.acceptance.improvement import Improvement
from agent_evo_dagster.patches.acceptance.protocol import Acceptance
from agent_evo_dagster.patches.evidence import Cost, GateEvidence, RolloutFacts
from agent_evo_dagster.patches.gate import measure
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.leaks import Known, given_away
from agent_evo_dagster.patches.pairing import Plan, pair, problems
from agent_evo_dagster.patches.types import GateVerdict

NAME: Final = "rollout"
SEED: Final = 0  # nobody who reads a text can be seeded: samples are independent
# One row per rollout, as of a probe; `reward` and `correct` are null where it was lost.
ROLLOUT_ROWS = pl.Schema(
    {
        "policy": pl.String,
        "seed": pl.Int64,
        "mode": pl.String,
        "task_id": pl.String,
        "sample": pl.Int64,
        "reward": pl.Float64,
        "correct": pl.Boolean,
        "finish": pl.String,
        "tokens": pl.Int64,
    }
)
_SHOWN = 5
_NAMED = 120  # characters


@dataclass(frozen=True, slots=True)
class Trial:
    """What was run of one patch."""

    rows: pl.DataFrame  # ROLLOUT_ROWS
    facts: RolloutFacts
    cost: Cost
    known: Mapping[str, Known] = field(default_factory=dict)  # what only the tasks say
    answered: Collection[tuple[str, ...]] = ()  # the models of a rollout, each set of them once


@dataclass(frozen=True, slots=True)
class Rollout:
    """Judges patches that change more than settings, each by its own trial, by patch id."""

    trials: Mapping[str, Trial] = field(default_factory=dict)
    acceptance: Acceptance = field(default_factory=Improvement)
    name: str = NAME

    def takes(self, case: Case) -> bool:
        """Prose that was tried."""
        return case.settings is None and case.patch.id in self.trials

    def judge(self, case: Case) -> GateEvidence:
        """The evidence; rows that cannot be trusted make it unverified, with every reason."""
        trial = self.trials[case.patch.id]
        facts = trial.facts
        plan = Plan("it", (SEED,), facts.tasks, facts.samples, facts.stopped_early)
        doubts = [
            *_quoting(case, trial.known),
            *_mixing(trial.answered),
            *problems(trial.rows, plan=plan, proposing=()),
        ]
        measured = None if doubts else measure(pair(trial.rows))
        if measured is None:
            verdict, reason = GateVerdict.REJECT_UNVERIFIED, "; ".join(doubts)
        else:
            verdict, reason = self.acceptance.verdict(measured)
        return GateEvidence(
            patch_id=case.patch.id,
            judge="rollout",
            acceptance=self.acceptance.name,
            verdict=verdict,
            reason=reason,
            settings={},
            facts=None,
            problems=tuple(doubts),
            measured=measured,
            cost=trial.cost,
            rollout=facts,
        )


def _quoting(case: Case, tasks: Mapping[str, Known]) -> list[str]:
    """Whether the patch holds what only the tasks say: it would teach them, and nothing else."""
    quoted = given_away(case.patch.body, case.base, tasks)
    if not quoted:
        return []
    more = f" and {len(quoted) - _SHOWN} more" if len(quoted) > _SHOWN else ""
    return [
        f"the patch quotes {len(quoted)} of the tasks, or tells their answers: "
        f"{', '.join(quoted[:_SHOWN])}{more}"
    ]


def _mixing(answered: Collection[tuple[str, ...]]) -> list[str]:
    """Whether rollouts differ in who did them, and so in more than the text."""
    if len(answered) < 2:
        return []
    told = " or ".join(visible(" with ".join(models))[:_NAMED] for models in sorted(answered)[:_SHOWN])
    return [f"not all rollouts were done by the same model, but by {told}: ask for one by its full name"]
