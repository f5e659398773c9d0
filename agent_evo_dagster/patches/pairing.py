"""Evaluation rows checked and paired for the gate. No statistics, no verdicts.

A row is one rollout: policy (baseline | candidate), seed, mode, task_id, sample, reward, correct, finish.
Every doubt is named; none is repaired. A score that is missing is neither a zero nor left out.
"""

from collections.abc import Collection
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from agent_evo_dagster.evaluation.regressions import rollouts_needed
from agent_evo_dagster.evaluation.splits import strays

BASELINE, CANDIDATE = "baseline", "candidate"
MIN_TASKS = 20  # fewer make the bootstrap's interval too narrow to be believed

_PAIR = ["seed", "task_id", "sample"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rollouts paired by task; `baseline[task]` and `candidate[task]` are ordered by seed and sample."""

    tasks: list[str]
    seeds: list[int]
    baseline: dict[str, list[float]]
    candidate: dict[str, list[float]]
    baseline_correct: dict[str, float]
    candidate_correct: dict[str, float]
    differences: list[list[float]]  # one row a seed, one column a task


@dataclass(frozen=True, slots=True)
class Plan:
    """What was to be run, by which the rows are checked."""

    work: str  # such as "the probe"
    seeds: tuple[int, ...]
    tasks: int
    samples: int  # of each task, side and seed
    stopped_early: str | None = None


def problems(rows: pl.DataFrame, *, plan: Plan | None, proposing: Collection[str]) -> list[str]:
    """Why `rows`, all of one mode, cannot support a verdict; empty where they can."""
    found = [*_problems_of_sides(rows), *_problems_of_split(rows, proposing), *_problems_of_scores(rows)]
    if plan is not None:
        found += _problems_of_plan(rows, plan)
    return found or _problems_of_size(rows)


def _problems_of_sides(rows: pl.DataFrame) -> list[str]:
    """Two sides with the same rollouts, each once, and every seed with the same tasks."""
    other = sorted(set(rows["policy"].unique().to_list()) - {BASELINE, CANDIDATE})
    if other:
        return [f"rows of other policies: {other[:3]}"]
    sides = {side: rows.filter(pl.col("policy") == side).select(_PAIR) for side in (BASELINE, CANDIDATE)}
    empty = [side for side, frame in sides.items() if frame.is_empty()]
    if empty:
        return [f"no rollouts of the {' and the '.join(empty)}"]
    found = []
    twice = rows.select("policy", *_PAIR).is_duplicated().sum()
    if twice:
        found.append(f"{twice} rows share policy, seed, task and sample with another")
    for side, mine, theirs in ((CANDIDATE, BASELINE, CANDIDATE), (BASELINE, CANDIDATE, BASELINE)):
        lacking = sides[mine].join(sides[theirs], on=_PAIR, how="anti")
        if lacking.height:
            tasks = lacking["task_id"].unique().sort().to_list()
            found.append(f"the {side} lacks {lacking.height} rollouts, of tasks {_shown(tasks)}")
    counts = sides[BASELINE].group_by("seed", "task_id").len()
    if (
        counts["len"].n_unique() > 1
        or counts.height != counts["seed"].n_unique() * counts["task_id"].n_unique()
    ):
        found.append("not every seed has every task with the same number of rollouts")
    return found


def _problems_of_split(rows: pl.DataFrame, proposing: Collection[str]) -> list[str]:
    """Tasks of the judge's split alone, none of which the proposal was made from."""
    tasks = set(rows["task_id"].unique().to_list())
    found = []
    wrong = strays(tasks, "judge")
    if wrong:
        found.append(f"{len(wrong)} tasks are not of the split 'judge': {_shown(wrong)}")
    both = sorted(tasks & set(proposing))
    if both:
        found.append(f"{len(both)} tasks were also used for proposing: {_shown(both)}")
    return found


def _problems_of_scores(rows: pl.DataFrame) -> list[str]:
    """A finite reward and a verdict for every rollout, none lost to the machinery."""
    found = []
    bad = rows.filter(~pl.col("reward").is_finite().fill_null(False) | pl.col("correct").is_null())
    if bad.height:
        found.append(f"{bad.height} scores are missing or not finite: {_shown(_sides_and_tasks(bad))}")
    lost = rows.filter(pl.col("finish") == "infra_error")
    if lost.height:
        found.append(
            f"{lost.height} rollouts ended by an infrastructure error: {_shown(_sides_and_tasks(lost))}"
        )
    return found


def _problems_of_plan(rows: pl.DataFrame, plan: Plan) -> list[str]:
    """All that was planned, and nothing else."""
    found = [f"{plan.work} ended early: {plan.stopped_early}"] if plan.stopped_early else []
    seeds = sorted(rows["seed"].unique().to_list())
    if seeds != sorted(set(plan.seeds)):
        found.append(f"seeds {list(plan.seeds)} were planned, there are rows of {seeds}")
    if rows["task_id"].n_unique() != plan.tasks:
        found.append(f"{plan.tasks} tasks were planned, there are rows of {rows['task_id'].n_unique()}")
    counts = rows.filter(pl.col("mode") == "sampled").group_by("policy", "seed", "task_id").len()["len"]
    short = (counts != plan.samples).sum()
    if short:
        found.append(f"{plan.samples} samples of each task were planned; {short} times there are others")
    return found


def _problems_of_size(rows: pl.DataFrame) -> list[str]:
    """Enough tasks for an interval, enough rollouts of each to see a regression at all."""
    tasks = rows["task_id"].n_unique()
    if tasks < MIN_TASKS:
        return [f"{tasks} tasks are too few; at least {MIN_TASKS} are needed"]
    each, needed = rows.height // (2 * tasks), rollouts_needed(tasks)
    if each < needed:
        return [
            f"{each} rollouts of each task and side could not show any regression among {tasks} tasks; "
            f"at least {needed} are needed (seeds x samples)"
        ]
    return []


def pair(rows: pl.DataFrame) -> Pairs:
    """Pair rows that have no problems."""
    ordered = rows.sort("task_id", "seed", "sample").with_columns(pl.col("correct").cast(pl.Float64))
    before, after = (ordered.filter(pl.col("policy") == side) for side in (BASELINE, CANDIDATE))
    by_seed = ["seed", "task_id"]
    means = [side.group_by(by_seed).agg(pl.col("reward").mean()) for side in (before, after)]
    joined = means[0].join(means[1], on=by_seed, suffix="_candidate").sort(by_seed)
    differences = joined.with_columns((pl.col("reward_candidate") - pl.col("reward")).alias("difference"))
    parts = differences.partition_by("seed", maintain_order=True)
    return Pairs(
        tasks=before["task_id"].unique(maintain_order=True).to_list(),
        seeds=differences["seed"].unique().sort().to_list(),
        baseline=_lists(before, "reward"),
        candidate=_lists(after, "reward"),
        baseline_correct=_means(before, "correct"),
        candidate_correct=_means(after, "correct"),
        differences=[part["difference"].to_list() for part in parts],
    )


def _means(side: pl.DataFrame, column: str) -> dict[str, float]:
    return {task: fmean(values) for task, values in _lists(side, column).items()}


def _lists(side: pl.DataFrame, column: str) -> dict[str, list[float]]:
    return dict(side.group_by("task_id", maintain_order=True).agg(pl.col(column)).iter_rows())


def _sides_and_tasks(rows: pl.DataFrame) -> list[str]:
    pairs = rows.select("policy", "task_id").unique().sort("policy", "task_id").iter_rows()
    return [f"{policy} {task}" for policy, task in pairs]


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
