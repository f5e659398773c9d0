"""What a log of a run holds once it is read, and the seam of its readers. No format."""

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

# As training writes it: one row for each step and metric; null, and not finite, where it was NaN or infinite.
METRIC_ROWS = pl.Schema({"step": pl.Int64, "name": pl.String, "value": pl.Float64, "finite": pl.Boolean})
_MAX_STEP = 2**53


@dataclass(frozen=True, slots=True)
class MetricLog:
    """The metrics of a run in the order of the log, and what could not be read of it."""

    source: str  # the reader's name
    metrics: pl.DataFrame  # METRIC_ROWS; a step that is logged twice is there twice
    broken: dict[str, int] = field(default_factory=dict)  # reason -> how often
    restarts: int = 0  # times that the step went back


class LogReader(Protocol):
    """One kind of log."""

    @property
    def name(self) -> str:
        """What its logs are said to be."""
        ...

    def recognises(self, path: Path) -> bool:
        """Whether the file at `path` is of this kind; it looks at the name and the beginning."""
        ...

    def read(self, path: Path) -> MetricLog:
        """The whole file; what is broken in it is counted."""
        ...


@dataclass(slots=True)
class LogBook:
    """Collects the values of a log while it is read."""

    rows: list[tuple[int, str, float | None, bool]] = field(default_factory=list)
    broken: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    last: int | None = None

    def step(self, step: object) -> int | None:
        """The step of a record; None, and counted, where it is none."""
        number = int(step) if isinstance(step, float) and step.is_integer() else step
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < _MAX_STEP:
            self.broken["no step"] += 1
            return None
        if self.last is not None and number < self.last:
            self.restarts += 1
        self.last = number
        return number

    def value(self, step: int, name: str, value: object) -> None:
        """Note one value; null stands for what its writer found not finite, other things are passed over."""
        if value is None:
            self.rows.append((step, name, None, False))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) < 1e300 or math.isinf(value) else math.inf
            finite = math.isfinite(number)
            self.rows.append((step, name, number if finite else None, finite))

    def log(self, source: str) -> MetricLog:
        """What was collected."""
        frame = pl.DataFrame(self.rows, schema=METRIC_ROWS, orient="row")
        return MetricLog(source, frame, dict(sorted(self.broken.items())), self.restarts)
