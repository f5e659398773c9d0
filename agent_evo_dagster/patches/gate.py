"""The gate: evidence for each patch, with a verdict. It runs nothing and decides nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, Literal

import polars as pl

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.evaluation.intervals import CONFIDENCE, crossed_bootstrap
from agent_evo_dagster.evaluation.regressions import ALPHA, regressed_tasks
from agent_evo_dagster.patches.acceptance.improvement import Improvement
from agent_evo_dagster.patches.acceptance.protocol import Acceptance
from agent_evo_dagster.patches.change import Number, SettingsChange
from agent_evo_dagster.patches.evidence import (
    Cost,
    GateEvidence,
    Measured,
    ProbeFacts,
    SeedDifference,
    TaskComparison,
)
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.judges import Case, Judge
from agent_evo_dagster.patches.pairing import CANDIDATE, Pairs, Plan, pair, problems
from agent_evo_dagster.patches.types import PATCH_EVALUATION_SCHEMA, GateVerdict, Patch

Mode = Literal["sampled", "greedy"]
Settings = Mapping[str, tuple[Number, Number]]
# What a probe sets itself, on both sides alike: a patch of these alone would be compared with itself.
_SET_BY_PROBES: Final = frozenset({"max_steps", "seed"})


def probed(settings: SettingsChange | None) -> bool:
    """Whether a probe can tell what a patch does: it changes settings and nothing beside, and not those alone
    that a probe sets itself.
    """
    return settings is not None and not settings.keys() <= _SET_BY_PROBES


def judge_probe(
    patch: Patch,
    rows: pl.DataFrame,
    *,
    settings: Settings | None = None,
    facts: ProbeFacts | None = None,
    proposing: Collection[str] = (),
    mode: Mode = "sampled",
    acceptance: Acceptance | None = None,
) -> GateEvidence:
    """Judge a patch by paired rollouts of the policies trained without it (baseline) and with it (candidate).

    `rows` is of EVALUATION_SCHEMA; only those of `mode` count. `settings` says what was compared, `facts`
    what was planned, `proposing` holds the ids of the tasks that the proposal was made from. The same
    rows give the same evidence, to the byte. Rows that cannot be trusted give `reject_unverified`, with every
    reason; the cost is counted all the same.
    """
    rule = acceptance or Improvement()
    counted = rows.filter(pl.col("mode") == mode)
    doubts = problems(counted, plan=None if facts is None else _plan(facts), proposing=proposing)
    measured = None if doubts else measure(pair(counted))
    if measured is None:
        verdict, reason = GateVerdict.REJECT_UNVERIFIED, "; ".join(doubts)
    else:
        verdict, reason = rule.verdict(measured)
    return GateEvidence(
        patch_id=patch.id,
        judge="probe",
        acceptance=rule.name,
        verdict=verdict,
        reason=reason,
        settings=dict(settings or {}),
        mode=mode,
        facts=facts,
        problems=tuple(doubts),
        measured=measured,
        cost=_cost(rows, facts),
    )


def _plan(facts: ProbeFacts) -> Plan:
    return Plan("the probe", facts.seeds, facts.tasks, facts.samples, facts.stopped_early)


def measure(pairs: Pairs) -> Measured:
    """The numbers of a paired comparison: bootstrap over tasks and seeds, and a test of each task."""
    interval = crossed_bootstrap(pairs.differences)
    tasks = tuple(_compare(pairs, task) for task in pairs.tasks)
    return Measured(
        n=interval.n,
        baseline=fmean(task.baseline for task in tasks),
        candidate=fmean(task.candidate for task in tasks),
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        confidence=CONFIDENCE,
        baseline_accuracy=fmean(pairs.baseline_correct.values()),
        candidate_accuracy=fmean(pairs.candidate_correct.values()),
        regressions=regressed_tasks(pairs.baseline, pairs.candidate),
        alpha=ALPHA,
        by_seed=tuple(_of_seed(pairs, place) for place in range(len(pairs.seeds))),
        tasks=tasks,
    )


def _of_seed(pairs: Pairs, place: int) -> SeedDifference:
    """What the seed at `place` alone says; rows without problems have as many samples of every seed."""

    def mean(side: Mapping[str, list[float]]) -> float:
        each = len(side[pairs.tasks[0]]) // len(pairs.seeds)
        return fmean(fmean(side[task][place * each : (place + 1) * each]) for task in pairs.tasks)

    return SeedDifference(
        seed=pairs.seeds[place],
        baseline=mean(pairs.baseline),
        candidate=mean(pairs.candidate),
        difference=fmean(pairs.differences[place]),
    )


def _compare(pairs: Pairs, task: str) -> TaskComparison:
    return TaskComparison(
        task_id=task,
        rollouts=len(pairs.baseline[task]),
        baseline=fmean(pairs.baseline[task]),
        candidate=fmean(pairs.candidate[task]),
        baseline_accuracy=pairs.baseline_correct[task],
        candidate_accuracy=pairs.candidate_correct[task],
    )


def needs_person(patch: Patch, settings: SettingsChange | None = None) -> GateEvidence:
    """The evidence of a patch that no judge here can measure: none, and a person must look."""
    why = (
        "it changes more than defaults of settings; no judge here measures prose"
        if settings is None
        else f"a probe sets {' and '.join(sorted(settings))} itself, so it cannot tell what the patch changes"
    )
    return _without_numbers(patch, GateVerdict.NEEDS_PERSON, f"{why}. Read the diff and decide.")


def not_a_target(patch: Patch) -> GateEvidence:
    """The evidence of a patch that no evidence could let in."""
    return _without_numbers(
        patch,
        GateVerdict.REJECT,
        f"{patch.skill} is no skill that rounds may optimise: its group is not an optimisation target.",
    )


def not_probed(patch: Patch, why: str) -> GateEvidence:
    """The evidence of a settings patch for which no rollouts came."""
    return _without_numbers(patch, GateVerdict.REJECT_UNVERIFIED, why)


def _without_numbers(patch: Patch, verdict: GateVerdict, reason: str) -> GateEvidence:
    return GateEvidence(
        patch_id=patch.id,
        judge="none",
        acceptance="none",
        verdict=verdict,
        reason=reason,
        settings={},
        facts=None,
        problems=(),
        measured=None,
        cost=Cost(),
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """Judges patches that change settings alone, each by the rows of its own probe, by patch id."""

    rows: Mapping[str, pl.DataFrame]
    facts: Mapping[str, ProbeFacts] = field(default_factory=dict)
    proposing: Collection[str] = ()
    acceptance: Acceptance | None = None
    name: str = "probe"

    def takes(self, case: Case) -> bool:
        """Settings that it can tell, and nothing beside them."""
        return probed(case.settings)

    def judge(self, case: Case) -> GateEvidence:
        """The evidence of the patch's rows; without any, `reject_unverified`."""
        rows = self.rows.get(case.patch.id)
        if rows is None:
            return not_probed(case.patch, "no probe was run")
        return judge_probe(
            case.patch,
            rows,
            settings=case.settings,
            facts=self.facts.get(case.patch.id),
            proposing=self.proposing,
            acceptance=self.acceptance,
        )


def judge_patches(
    patches: pl.DataFrame,
    rows: Mapping[str, pl.DataFrame],
    *,
    facts: Mapping[str, ProbeFacts] | None = None,
    proposing: Collection[str] = (),
    targets: Collection[str] | None = None,
    acceptance: Acceptance | None = None,
    more: Sequence[Judge] = (),
) -> pl.DataFrame:
    """Judge every patch of a round: `patches` is PATCH_SCHEMA, `rows` maps patch id to its probe's rows.

    Patches that touch settings only are judged by their probe, where it can tell them; others by the first
    judge of `more` that takes them, else they need a person; which is which is found from the texts. A
    settings patch without rows is `reject_unverified`. Where `targets` names the skills that may be
    optimised, patches of others are rejected, whatever was measured of them.

    Raises:
        GateError: rows of a patch that the round does not have.
        PatchError: a row of `patches` whose columns do not belong together.
    """
    unknown = sorted(set(rows) - set(patches["patch_id"].to_list()))
    if unknown:
        raise GateError(
            f"There are probe rows of {unknown}, which the round does not propose. Probe its patches."
        )
    judges = (Probe(rows, facts or {}, proposing, acceptance), *more)
    return to_frame([_judge(case, judges, targets) for case in cases(patches)])


def cases(patches: pl.DataFrame) -> list[Case]:
    """What a judge is given of each patch of a frame (PATCH_SCHEMA)."""
    return [Case(*row_patch(row), str(row["base"])) for row in patches.iter_rows(named=True)]


def _judge(case: Case, judges: Sequence[Judge], targets: Collection[str] | None) -> GateEvidence:
    if targets is not None and case.patch.skill not in targets:
        return not_a_target(case.patch)
    fit = next((judge for judge in judges if judge.takes(case)), None)
    return needs_person(case.patch, case.settings) if fit is None else fit.judge(case)


def to_frame(evidence: Collection[GateEvidence]) -> pl.DataFrame:
    """The verdicts as rows (PATCH_EVALUATION_SCHEMA)."""
    return pl.DataFrame([_row(one) for one in evidence], schema=PATCH_EVALUATION_SCHEMA, orient="row")


def _row(evidence: GateEvidence) -> dict[str, object]:
    measured = evidence.measured
    numbers = ("baseline", "candidate", "difference", "low", "high")
    return {
        "patch_id": evidence.patch_id,
        "judge": evidence.judge,
        "verdict": evidence.verdict.value,
        "reason": evidence.reason,
        "n": measured.n if measured else 0,
        **{name: getattr(measured, name) if measured else None for name in numbers},
        "regressions": list(measured.regressions) if measured else [],
        "evidence": evidence.as_json(),
    }


def _cost(rows: pl.DataFrame, facts: ProbeFacts | None) -> Cost:
    sides = rows["policy"].n_unique() if CANDIDATE in rows["policy"] else 1
    steps = None if facts is None else facts.steps * len(facts.seeds) * sides
    return Cost(rollouts=rows.height, tokens=int(rows["tokens"].sum()), training_steps=steps)
