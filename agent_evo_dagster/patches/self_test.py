"""The judge's test of itself, before anything is spent: does it tell good from bad? Synthetic rows only.

A judge that accepts all, rejects all or cannot see a regression gives verdicts that look like any other.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice

import polars as pl

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.acceptance.protocol import Acceptance
from agent_evo_dagster.patches.gate import judge_probe
from agent_evo_dagster.patches.pairing import BASELINE, CANDIDATE
from agent_evo_dagster.patches.types import GateVerdict, Patch

_TASKS, _SEEDS, _SAMPLES = 40, 2, 8

_Chance = Callable[[int], float]  # task's number -> chance that a rollout is right


@dataclass(frozen=True, slots=True)
class Known:
    """A comparison whose right verdict is known."""

    name: str
    baseline: _Chance
    candidate: _Chance
    expected: GateVerdict


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """What the judge said of a known comparison."""

    name: str
    expected: GateVerdict
    found: GateVerdict
    reason: str


def self_test(acceptance: Acceptance | None = None) -> tuple[SelfTestResult, ...]:
    """Judge comparisons whose verdict is known.

    Raises:
        GateError: at least one verdict is not the known one; no probe of this judge can be trusted.
    """
    results = tuple(_judge(known, acceptance) for known in _knowns())
    wrong = [result for result in results if result.found is not result.expected]
    if wrong:
        said = "; ".join(f"{one.name}: {one.found.value} instead of {one.expected.value}" for one in wrong)
        raise GateError(
            f"The judge fails its own test ({said}). Mend the judge before any patch is judged by it."
        )
    return results


def _knowns() -> list[Known]:
    return [
        Known("a better policy", lambda _: 0.3, lambda _: 0.7, GateVerdict.ACCEPT),
        Known("a worse policy", lambda _: 0.7, lambda _: 0.3, GateVerdict.REJECT),
        Known("the same policy", lambda _: 0.5, lambda _: 0.5, GateVerdict.REJECT),
        Known(
            "a better policy that lost one task",
            lambda task: 1.0 if task == 0 else 0.3,
            lambda task: 0.0 if task == 0 else 0.8,
            GateVerdict.REJECT,
        ),
    ]


def _judge(known: Known, acceptance: Acceptance | None) -> SelfTestResult:
    evidence = judge_probe(_nobody(), _rows(known), acceptance=acceptance)
    return SelfTestResult(known.name, known.expected, evidence.verdict, evidence.reason)


def _rows(known: Known) -> pl.DataFrame:
    """Rollouts that are right with the chances of `known`, drawn from one seed."""
    rng = random.Random(known.name)
    names = (f"self-test-{number}" for number in count())
    tasks = list(islice((name for name in names if split_of(name) == "judge"), _TASKS))
    rows = [
        (policy, seed, "sampled", task, sample, rng.random() < chance(number))
        for policy, chance in ((BASELINE, known.baseline), (CANDIDATE, known.candidate))
        for seed in range(_SEEDS)
        for number, task in enumerate(tasks)
        for sample in range(_SAMPLES)
    ]
    frame = pl.DataFrame(
        rows, schema=["policy", "seed", "mode", "task_id", "sample", "correct"], orient="row"
    )
    return frame.with_columns(
        pl.col("correct").cast(pl.Float64).alias("reward"),
        pl.lit("stop").alias("finish"),
        pl.lit(0).alias("tokens"),
    )


def _nobody() -> Patch:
    """A patch that only lends its id to the evidence."""
    return Patch(
        id="p-self-test",
        group="self-test",
        skill="self-test",
        target_section="self-test",
        action="replace",
        description="Known comparisons.",
        base_hash="",
        created=datetime(1970, 1, 1, tzinfo=UTC),
        body="",
    )
