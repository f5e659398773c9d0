"""Metrics of one batch of rollouts, under names of our own beside the trainer's. Rows are made in frames."""

from collections.abc import Sequence

import polars as pl

from agent_evo_dagster.evaluation.passk import pass_at_k, pass_hat_k
from agent_evo_dagster.training.environments.types import ToolFault, ToolUse
from agent_evo_dagster.training.tool_calls.types import Fault
from agent_evo_dagster.training.types import Finish

KINDS = (*Fault, *ToolFault)


def summary(frame: pl.DataFrame) -> dict[str, float | None]:
    """Means over the rows of one batch (ROLLOUT_SCHEMA); a row without a score counts in its finish."""
    finishes = {f"rollout/finish_{finish}": _share(frame, finish) for finish in Finish}
    sampled = frame["response_mask"].list.sum().cast(pl.Float64)
    return {
        "rollout/accuracy": _mean(frame["correct"].cast(pl.Float64)),
        "rollout/turns": _mean(frame["turns"]),
        "rollout/tool_calls": _mean(frame["tool_calls"]),
        "rollout/tool_errors": _mean(frame["tool_errors"]),
        **finishes,
        "rollout/tokens_sampled": _mean(sampled),
        "rollout/tokens_longest": _number(sampled.max()),
        "rollout/tokens_prompt": _mean(frame["prompt_ids"].list.len()),
        "rollout/zero_variance": _zero_variance(frame),
        **_passes(frame),
    }


def tool_faults(uses: Sequence[ToolUse]) -> dict[str, float | None]:
    """Faults of tool calls by kind, and calls read in spite of one, each as a mean per rollout."""
    rollouts = max(1, len(uses))
    by_kind = {kind: sum(use.faults.get(str(kind), 0) for use in uses) for kind in KINDS}
    means = {f"rollout/tool_error_{kind}": count / rollouts for kind, count in by_kind.items() if count}
    return {**means, "rollout/tool_recovered": sum(use.recovered for use in uses) / rollouts}


def _passes(frame: pl.DataFrame) -> dict[str, float | None]:
    """Unbiased pass@k and pass^k for powers of two, over the groups that have k scored rows."""
    counts = (
        frame.filter(pl.col("correct").is_not_null())
        .group_by("group", maintain_order=True)
        .agg(pl.len().alias("n"), pl.col("correct").sum().alias("solved"))
        .select("n", "solved")
        .rows()
    )
    found: dict[str, float | None] = {}
    k = 2
    while k <= max((n for n, _ in counts), default=0):
        pairs = [(n, solved) for n, solved in counts if n >= k]
        found[f"rollout/pass_at_{k}"] = sum(pass_at_k(*pair, k) for pair in pairs) / len(pairs)
        found[f"rollout/pass_hat_{k}"] = sum(pass_hat_k(*pair, k) for pair in pairs) / len(pairs)
        k *= 2
    return found


def _zero_variance(frame: pl.DataFrame) -> float | None:
    """Share of the groups with scored rows whose rewards are all the same: they train nothing."""
    spread = (
        frame.filter(pl.col("reward").is_not_null())
        .group_by("group", maintain_order=True)
        .agg((pl.col("reward").max() - pl.col("reward").min()).alias("spread"))
    )
    return _mean((spread["spread"] == 0).cast(pl.Float64))


def _share(frame: pl.DataFrame, finish: Finish) -> float:
    return float((frame["finish"] == str(finish)).sum()) / frame.height


def _mean(series: pl.Series) -> float | None:
    return _number(series.mean())


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
