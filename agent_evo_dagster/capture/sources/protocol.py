"""The seam that a source of events stands behind. No source, no choice among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from agent_evo_dagster.capture.client_totals import TOTAL_SCHEMA
from agent_evo_dagster.capture.types import EVENT_SCHEMA, QUARANTINE_SCHEMA, USAGE_SCHEMA, FileSlice


@dataclass(frozen=True, slots=True)
class Reading:
    """What slices of one source hold. Every line is in `events`, in `quarantine`, or counted in `passed`."""

    events: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EVENT_SCHEMA))
    quarantine: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=QUARANTINE_SCHEMA))
    lines: int = 0
    passed: Mapping[str, int] = field(default_factory=dict)  # kind of line -> lines that are no event
    usage: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=USAGE_SCHEMA))
    totals: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TOTAL_SCHEMA))


class EventSource(Protocol):
    """A kind of file that events can be read from."""

    folder: str  # of the spool, in which its files lie

    def recognises(self, records: Sequence[Mapping[str, object]]) -> bool:
        """Whether a file whose first records are these is of this source."""

    def target(self, path: Path, records: Sequence[Mapping[str, object]], /) -> str | None:
        """Where a copy belongs, relative to the spool; None: its lines are sorted by session."""

    def read(self, spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Reading:
        """The events of slices of this source, redacted with `key`."""
