"""Tables of evaluation rows: per policy, and before against after. No plots, no verdicts.

A row is one rollout of one task, as the worker writes it: policy, seed, mode, task_id, sample, reward,
correct, finish, turns, tokens. The unit of every interval is the task: rollouts of one task are not
independent of each other.
"""

from statistics import fmean

import polars as pl

from agent_evo_dagster.errors import EvaluationError
from agent_evo_dagster.evaluation.intervals import Interval, mean_interval, paired_bootstrap, wilson
from agent_evo_dagster.evaluation.passk import pass_at_k, pass_hat_k

SUMMARY_SCHEMA = pl.Schema(
    {
        "policy": pl.String,
        "mode": pl.String,
        "tasks": pl.Int64,
        "rollouts": pl.Int64,
        "accuracy": pl.Float64,
        "accuracy_low": pl.Float64,  # Wilson, n = tasks
        "accuracy_high": pl.Float64,
        "reward": pl.Float64,
        "reward_low": pl.Float64,  # bootstrap over tasks
        "reward_high": pl.Float64,
    }
)

DIFFERENCE_SCHEMA = pl.Schema(
    {
        "mode": pl.String,
        "measure": pl.String,  # "reward" | "accuracy"
        "tasks": pl.Int64,
        "before": pl.Float64,
        "after": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,  # paired bootstrap over tasks
        "high": pl.Float64,
    }
)


def summarise(evaluation: pl.DataFrame) -> pl.DataFrame:
    """One row per policy and mode (SUMMARY_SCHEMA), sorted; every task weighs the same.

    Raises:
        EvaluationError: a reward or a verdict is missing or not finite.
    """
    tasks = task_means(evaluation)
    rows = [_summary_row(policy, mode, group) for (policy, mode), group in _groups(tasks, "policy", "mode")]
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def _summary_row(policy: str, mode: str, tasks: pl.DataFrame) -> tuple[str | int | float, ...]:
    accuracy = wilson(min(float(tasks.height), float(tasks["accuracy"].sum())), tasks.height)
    reward = mean_interval(tasks["reward"].to_list())
    counted = (policy, mode, tasks.height, int(tasks["rollouts"].sum()))
    return (*counted, accuracy.mean, accuracy.low, accuracy.high, reward.mean, reward.low, reward.high)


def difference(evaluation: pl.DataFrame, *, before: str = "before", after: str = "after") -> pl.DataFrame:
    """What `after` scores above `before`, paired by task, per mode (DIFFERENCE_SCHEMA).

    Raises:
        EvaluationError: the two policies were not scored on the same tasks, or a score is not finite.
    """
    tasks = task_means(evaluation.filter(pl.col("policy").is_in([before, after])))
    rows: list[tuple[str | int | float, ...]] = []
    for (mode,), group in _groups(tasks, "mode"):
        old, new = (group.filter(pl.col("policy") == policy) for policy in (before, after))
        if old["task_id"].to_list() != new["task_id"].to_list():
            raise EvaluationError(
                f"{before!r} and {after!r} must be scored on the same {mode} tasks; "
                f"they have {old.height} and {new.height}, not all the same. Evaluate both again."
            )
        for measure in ("reward", "accuracy"):
            interval = paired_bootstrap(old[measure].to_list(), new[measure].to_list())
            rows.append(_difference_row(mode, measure, old, new, interval))
    return pl.DataFrame(rows, schema=DIFFERENCE_SCHEMA, orient="row")


def _difference_row(
    mode: str, measure: str, old: pl.DataFrame, new: pl.DataFrame, interval: Interval
) -> tuple[str | int | float, ...]:
    means = (fmean(frame[measure].to_list()) for frame in (old, new))
    return (mode, measure, interval.n, *means, interval.mean, interval.low, interval.high)


def pass_table(evaluation: pl.DataFrame, ks: tuple[int, ...]) -> pl.DataFrame:
    """Mean pass@k and pass^k over tasks: policy, mode, k, pass_at_k, pass_hat_k.

    Raises:
        EvaluationError: a task has fewer than k rollouts.
    """
    tasks = task_means(evaluation)
    rows: list[tuple[str | int | float, ...]] = []
    for (policy, mode), group in _groups(tasks, "policy", "mode"):
        counts = group.select("rollouts", "solved").rows()
        for k in ks:
            lucky = sum(pass_at_k(n, solved, k) for n, solved in counts) / len(counts)
            reliable = sum(pass_hat_k(n, solved, k) for n, solved in counts) / len(counts)
            rows.append((policy, mode, k, lucky, reliable))
    schema = {
        "policy": pl.String,
        "mode": pl.String,
        "k": pl.Int64,
        "pass_at_k": pl.Float64,
        "pass_hat_k": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def task_means(evaluation: pl.DataFrame) -> pl.DataFrame:
    """Policy, mode, task_id, rollouts, solved, accuracy and reward, one row a task, sorted."""
    bad = evaluation.filter(~pl.col("reward").is_finite().fill_null(False) | pl.col("correct").is_null())
    if bad.height:
        shown = bad["task_id"].unique().sort().head(5).to_list()
        raise EvaluationError(
            f"{bad.height} evaluation rows have no finite reward or no verdict, of tasks {shown}. "
            f"Evaluate these tasks again: a missing score is not a zero."
        )
    ordered = evaluation.sort("policy", "mode", "task_id", "seed", "sample")
    return ordered.group_by("policy", "mode", "task_id", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("rollouts"),
        pl.col("correct").cast(pl.Int64).sum().alias("solved"),
        pl.col("correct").cast(pl.Float64).mean().alias("accuracy"),
        pl.col("reward").mean(),
    )


def _groups(tasks: pl.DataFrame, *keys: str) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    """The groups of a sorted frame, in order, with their keys as text."""
    parts = tasks.partition_by(keys, maintain_order=True)
    pairs = [(tuple(str(part[key][0]) for key in keys), part) for part in parts]
    return sorted(pairs, key=lambda pair: pair[0])
