"""The `llm` judge, for prose: what a model's votes on the two texts say. It asks nobody.

A model that was shown both texts in both orders says for each criterion which is better. A vote that turns
round with the order is a tie. What a model likes is no measurement: so a person decides whatever it prefers;
it only rejects what it cannot trust, and what it surely finds worse.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, Literal

from agent_evo_dagster.evaluation.intervals import CONFIDENCE, change_interval
from agent_evo_dagster.evaluation.regressions import ALPHA
from agent_evo_dagster.patches.evidence import (
    Cost,
    GateEvidence,
    LlmFacts,
    Measured,
    SeedDifference,
    TaskComparison,
)
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.types import GateVerdict

NAME: Final = "llm"

Side = Literal["before", "after", "tie"]
Ballot = Mapping[str, Side]  # criterion -> the better text

_WORTH: Final[Mapping[Side, int]] = {"before": -1, "after": 1, "tie": 0}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same question in both orders: `forward` showed the text without the patch first."""

    forward: Ballot
    backward: Ballot

    def worth(self, criterion: str) -> int:
        """1: better with the patch, in both orders; -1: worse, in both; else 0."""
        first, second = (_WORTH[ballot[criterion]] for ballot in (self.forward, self.backward))
        return first if first == second else 0

    def turned(self, criterion: str) -> bool:
        """Whether the vote turned round with the order."""
        return _WORTH[self.forward[criterion]] * _WORTH[self.backward[criterion]] < 0


@dataclass(frozen=True, slots=True)
class Hearing:
    """What a model said of one patch."""

    service: str
    model: str | None
    rubric: str
    criteria: tuple[str, ...]
    guards: frozenset[str]  # criteria on which nothing may be worse beyond noise
    samples: int  # comparisons that were planned
    comparisons: tuple[Comparison, ...]
    cost: Cost
    failures: int = 0  # of later sessions, that it was shown
    stopped_early: str | None = None

    def score(self, ballots: Sequence[Ballot]) -> float:
        """The mean worth of ballots of one order."""
        return fmean(_WORTH[ballot[one]] for ballot in ballots for one in self.criteria)


@dataclass(frozen=True, slots=True)
class Llm:
    """Judges patches that change more than settings, each by what was said of it, by patch id."""

    hearings: Mapping[str, Hearing] = field(default_factory=dict)
    name: str = NAME

    def takes(self, case: Case) -> bool:
        """Prose that was heard."""
        return case.settings is None and case.patch.id in self.hearings

    def judge(self, case: Case) -> GateEvidence:
        """The evidence; a comparison that ended early makes it unverified."""
        heard = self.hearings[case.patch.id]
        doubts = _doubts(heard)
        measured = None if doubts else measure(heard)
        verdict, reason = verdict_of(measured, doubts)
        return GateEvidence(
            patch_id=case.patch.id,
            judge="llm",
            acceptance="preference",
            verdict=verdict,
            reason=reason,
            settings={},
            split="rubric",
            facts=None,
            problems=tuple(doubts),
            measured=measured,
            cost=heard.cost,
            llm=_facts(heard),
        )


def _doubts(heard: Hearing) -> list[str]:
    """Why the votes cannot be trusted."""
    found = [f"the comparison ended early: {heard.stopped_early}"] if heard.stopped_early else []
    if len(heard.comparisons) < heard.samples:
        found.append(f"{len(heard.comparisons)} of {heard.samples} comparisons have both orders")
    return found


def _facts(heard: Hearing) -> LlmFacts:
    worths = [one.worth(name) for one in heard.comparisons for name in heard.criteria]
    return LlmFacts(
        service=heard.service,
        model=heard.model,
        rubric=heard.rubric,
        samples=heard.samples,
        asked=len(heard.comparisons),
        votes=len(worths),
        better=worths.count(1),
        worse=worths.count(-1),
        by_position=sum(one.turned(name) for one in heard.comparisons for name in heard.criteria),
        failures=heard.failures,
        stopped_early=heard.stopped_early,
    )


def measure(heard: Hearing) -> Measured:
    """The share of votes for each text, paired by comparison; a comparison is one unit."""
    scores = [fmean(one.worth(name) for name in heard.criteria) for one in heard.comparisons]
    interval = change_interval(scores)
    tasks = tuple(_criterion(heard, name) for name in heard.criteria)
    baseline, candidate = (fmean(getattr(one, side) for one in tasks) for side in ("baseline", "candidate"))
    return Measured(
        n=interval.n,
        baseline=baseline,
        candidate=candidate,
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        confidence=CONFIDENCE,
        baseline_accuracy=baseline,
        candidate_accuracy=candidate,
        regressions=_regressions(heard),
        alpha=ALPHA,
        by_seed=tuple(SeedDifference(seed=seed, difference=score) for seed, score in enumerate(scores)),
        tasks=tasks,
    )


def _criterion(heard: Hearing, name: str) -> TaskComparison:
    worths = [one.worth(name) for one in heard.comparisons]
    baseline, candidate = (worths.count(side) / len(worths) for side in (-1, 1))
    return TaskComparison(
        task_id=name,
        rollouts=len(worths),
        baseline=baseline,
        candidate=candidate,
        baseline_accuracy=baseline,
        candidate_accuracy=candidate,
    )


def _regressions(heard: Hearing) -> dict[str, float]:
    """Guards that the patch is surely worse on, by a one-sided sign test, adjusted for their number."""
    found = {}
    for name in sorted(heard.guards):
        worths = [one.worth(name) for one in heard.comparisons]
        p_value = min(1.0, len(heard.guards) * _sign_test(worths.count(1), worths.count(-1)))
        if p_value <= ALPHA:
            found[name] = p_value
    return found


def _sign_test(wins: int, losses: int) -> float:
    """The chance of so few wins, or fewer, among all that are no ties, if both were equally likely."""
    n = wins + losses
    return float(sum(math.comb(n, k) for k in range(wins + 1)) / 2**n)


def verdict_of(measured: Measured | None, doubts: Sequence[str]) -> tuple[GateVerdict, str]:
    """What votes lead to; never to `accept`."""
    if measured is None:
        return GateVerdict.REJECT_UNVERIFIED, "; ".join(doubts)
    shown = (
        f"preferred {measured.baseline:.3f} without it, {measured.candidate:.3f} with it, in {measured.n} "
        f"comparisons in both orders, difference {measured.difference:+.3f} "
        f"[{measured.low:+.3f}, {measured.high:+.3f}]"
    )
    if measured.regressions:
        worse = ", ".join(measured.regressions)
        return GateVerdict.REJECT, f"the model finds it less {worse}, beyond noise: {shown}"
    if measured.high < 0:
        return GateVerdict.REJECT, f"the model prefers the section without it: {shown}"
    said = "the model prefers it" if measured.low > 0 else "the model has no sure preference"
    return GateVerdict.NEEDS_PERSON, f"{said}: {shown}. Liking is not measuring: read the diff and decide."
