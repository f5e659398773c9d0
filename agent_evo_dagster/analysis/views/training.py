"""How training went in each round, side by side. No findings, no held-out scores."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.comparison import COMPARISON_SCHEMA, NamedRun, compare_runs
from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.series import read_run
from agent_evo_dagster.analysis.text import number, signed
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.views.page import Table

_MOST = 10  # rounds
_SHOWN = {
    "kl": "KL", "entropy": "Entropy", "clip_fraction": "Clip fraction", "grad_norm": "Gradient norm",
    "length": "Length", "truncated": "Cut",
}  # fmt: skip


def training_rows(round_key: str, metrics: pl.DataFrame) -> pl.DataFrame:
    """The rows of COMPARISON_SCHEMA that the metrics of one round give.

    Raises:
        AnalysisError: a column is missing.
    """
    nothing = pl.DataFrame()
    run = read_run(metrics, nothing, nothing, {}, load_thresholds())
    return compare_runs([NamedRun(round_key, run)])


def training_by_round(trend: pl.DataFrame) -> Table:
    """The last rounds of a frame (COMPARISON_SCHEMA), in its order: how each metric moved and ended."""
    by_round: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows_of(trend, COMPARISON_SCHEMA.names(), what="training of rounds"):
        by_round.setdefault(str(row["run"]), {})[str(row["metric"])] = row
    last = list(by_round.items())[-_MOST:]
    left = f" (the last {_MOST} of {len(by_round)})" if len(by_round) > _MOST else ""
    columns = (
        "Round",
        "Steps",
        "Reward, first → last quarter",
        "Slope per 10 steps [interval]",
        *_SHOWN.values(),
    )
    return Table(
        f"Training by round, all its steps; other metrics in its last quarter{left}",
        columns,
        tuple(_row(key, metrics) for key, metrics in last),
        frozenset(range(1, len(columns))),
        "Nothing was trained.",
    )


def _row(key: str, metrics: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    reward = metrics.get("reward", {})
    return (
        key,
        str(reward.get("steps", 0)),
        f"{number(reward.get('start'))} → {number(reward.get('end'))}",
        _moved(reward),
        *(_end(metrics.get(name)) for name in _SHOWN),
    )


def _moved(reward: Mapping[str, Any]) -> str:
    if reward.get("change_per_10") is None:
        return "n/a"
    return f"{signed(reward['change_per_10'])} [{signed(reward['low'])}, {signed(reward['high'])}]"


def _end(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "not logged"
    return number(row["end"]) + (f" ({row['not_finite']} not finite)" if row["not_finite"] else "")
