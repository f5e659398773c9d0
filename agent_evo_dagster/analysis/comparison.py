"""Training runs side by side: how each metric moved in each round, and what was set. No judgement."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from agent_evo_dagster.analysis.series import Run, Series

RUN_METRICS = (
    "reward", "held_out", "kl", "entropy", "clip_fraction", "grad_norm", "loss", "length", "truncated",
    "zero_variance", "turns", "aborted",
)  # fmt: skip

# One row for each run and metric that it logged.
COMPARISON_SCHEMA = pl.Schema(
    {
        "run": pl.String,
        "metric": pl.String,  # as the thresholds table calls it
        "logged_as": pl.String,
        "steps": pl.Int64,  # with a finite value
        "start": pl.Float64,  # mean of the first quarter
        "end": pl.Float64,  # mean of the last quarter
        "change_per_10": pl.Float64,  # Theil-Sen slope over 10 steps, null with fewer than three values
        "low": pl.Float64,  # 95 % interval of it
        "high": pl.Float64,
        "not_finite": pl.Int64,  # steps where it was NaN or infinite
    }
)
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run by the name that it is compared under, with the kinds of findings on it."""

    name: str
    run: Run
    kinds: tuple[str, ...] = ()


def compare_runs(runs: Iterable[NamedRun]) -> pl.DataFrame:
    """The metrics of all runs (COMPARISON_SCHEMA), in the order given."""
    rows = [
        {"run": one.name, "metric": metric, **_figures(series)}
        for one in runs
        for metric in RUN_METRICS
        if (series := one.run.get(metric)).steps or series.broken
    ]
    return pl.DataFrame(rows, schema=COMPARISON_SCHEMA)


def changed_settings(runs: Iterable[NamedRun]) -> dict[str, dict[str, str]]:
    """Setting -> run -> value as JSON text, for settings that differ between the runs that name them."""
    found: dict[str, dict[str, str]] = {}
    for one in runs:
        for name, value in one.run.settings.items():
            found.setdefault(name, {})[one.name] = json.dumps(value)
    return {name: told for name, told in sorted(found.items()) if len(set(told.values())) > 1}


def _figures(series: Series) -> Mapping[str, object]:
    told = len(series.values) >= _FEWEST
    change, low, high = series.trend.over(10) if told else (None, None, None)
    return {
        "logged_as": series.name,
        "steps": len(series.values),
        "start": series.start if series else None,
        "end": series.end if series else None,
        "change_per_10": change,
        "low": low,
        "high": high,
        "not_finite": len(series.broken),
    }
