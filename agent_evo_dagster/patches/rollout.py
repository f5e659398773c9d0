"""The `rollout` judge, for prose: the same tasks done with the old and the new text, paired. It runs nothing.

Its rows are measured as those of a probe are. What makes it different is the patch: it is read by who is
measured, so one that quotes the tasks proves nothing.
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
_QUOTED = 30  # characters of a line that stand in a patch by no accident
_SHOWN = 5
_NAMED = 120  # characters


@dataclass(frozen=True, slots=True)
class Trial:
    """What was run of one patch."""

    rows: pl.DataFrame  # ROLLOUT_ROWS
    facts: RolloutFacts
    cost: Cost
    texts: Mapping[str, Collection[str]] = field(default_factory=dict)  # task -> what only it says
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
            *_quoting(case, trial.texts),
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


def _quoting(case: Case, texts: Mapping[str, Collection[str]]) -> list[str]:
    """Whether the patch holds what only the tasks say: it would teach them, and nothing else."""
    told = _plain(case.patch.body)
    known = _plain(case.base)
    quoted = [
        task
        for task, lines in sorted(texts.items())
        if any(line in told and line not in known for line in _long(lines))
    ]
    if not quoted:
        return []
    more = f" and {len(quoted) - _SHOWN} more" if len(quoted) > _SHOWN else ""
    return [f"the patch quotes {len(quoted)} of the tasks: {', '.join(quoted[:_SHOWN])}{more}"]


def _mixing(answered: Collection[tuple[str, ...]]) -> list[str]:
    """Whether rollouts differ in who did them, and so in more than the text."""
    if len(answered) < 2:
        return []
    told = " or ".join(visible(" with ".join(models))[:_NAMED] for models in sorted(answered)[:_SHOWN])
    return [f"not all rollouts were done by the same model, but by {told}: ask for one by its full name"]


def _long(texts: Collection[str]) -> list[str]:
    lines = (_plain(line) for text in texts for line in text.splitlines())
    return [line for line in lines if len(line) >= _QUOTED]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
