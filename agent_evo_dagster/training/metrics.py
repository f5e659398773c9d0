"""Metrics of optimiser steps as files and frames: what repeats exactly apart from what a clock measured."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.types import METRIC_SCHEMA

METRICS_FILE = "metrics.jsonl"
TIMINGS_FILE = "timings.jsonl"
CLOCKED = frozenset({"step_time"})

Values = Mapping[str, float | None]  # null: the trainer gave NaN or infinity


def finite(logs: Mapping[str, object]) -> dict[str, float | None]:
    """The numbers among `logs`, in name order; None for those that are not finite."""
    values: dict[str, float | None] = {}
    for name, value in sorted(logs.items()):
        if value is None:
            values[name] = None
        elif isinstance(value, int | float):
            values[name] = float(value) if math.isfinite(value) else None
    return values


def append_line(path: Path, step: int, values: Values) -> None:
    """Add one step to a file of metrics or timings; a line is written whole."""
    key = path.stem
    line = json.dumps({"step": step, key: dict(values)}, allow_nan=False) + "\n"
    with path.open("a", encoding="utf-8") as stream:
        stream.write(line)


def read_metrics(path: Path) -> pl.DataFrame:
    """The file `metrics.jsonl` as METRIC_SCHEMA rows.

    Raises:
        TrainingError: the file is missing, or a line is not a step.
    """
    return pl.DataFrame(list(_rows(path)), schema=METRIC_SCHEMA, orient="row")


def _rows(path: Path) -> Iterator[tuple[int, str, float | None, bool]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise TrainingError(
            f"There are no metrics at {path}: the run did not reach its first step. Run it again."
        ) from error
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            step, values = int(entry["step"]), dict(entry["metrics"])
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{path}, line {number} is not a step of metrics ({error}).") from error
        for name, value in values.items():
            yield step, name, value, value is not None
