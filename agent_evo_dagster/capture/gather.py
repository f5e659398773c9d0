"""A round's slices, of whatever sources, as one frame of events. Not which slices a round takes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from agent_evo_dagster.capture.reconcile import reconcile
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.sources.registry import sources
from agent_evo_dagster.capture.sources.transcripts import FOLDER as TRANSCRIPTS
from agent_evo_dagster.capture.types import EVENT_SCHEMA, FileSlice
from agent_evo_dagster.errors import CaptureError


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the slices of a round hold."""

    events: pl.DataFrame  # EVENT_SCHEMA, of all sources, joined
    quarantine: pl.DataFrame  # QUARANTINE_SCHEMA
    coverage: pl.DataFrame  # COVERAGE_SCHEMA
    usage: pl.DataFrame  # USAGE_SCHEMA
    lines: int
    passed: Mapping[str, int]  # kind of line -> lines that are no event of their own


def read_sources(spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> Gathered:
    """Read the slices, each by its source, and join what hooks and transcripts tell.

    Raises:
        CaptureError: a slice is of no source, or its file no longer holds its bytes.
    """
    by_folder: dict[str, list[FileSlice]] = defaultdict(list)
    for part in slices:
        by_folder[PurePosixPath(part.file).parts[0]].append(part)
    known = {source.folder: source for source in sources()}
    if unknown := by_folder.keys() - known.keys():
        raise CaptureError(
            f"The round reads files below {', '.join(sorted(unknown))}, which is a folder of no source "
            f"({', '.join(known)}). Was it opened by a newer version? Install that one."
        )
    readings = {
        folder: source.read(spool, by_folder[folder], key=key)
        for folder, source in known.items()
        if folder in by_folder
    }
    told = readings.get(TRANSCRIPTS, Reading())
    captured = [reading.events for folder, reading in readings.items() if folder != TRANSCRIPTS]
    joined = reconcile(pl.concat([pl.DataFrame(schema=EVENT_SCHEMA), *captured]), told.events)
    passed: Counter[str] = Counter()
    for reading in readings.values():
        passed.update(reading.passed)
    return Gathered(
        joined.events,
        pl.concat([Reading().quarantine, *(reading.quarantine for reading in readings.values())]),
        joined.coverage,
        told.usage,
        sum(reading.lines for reading in readings.values()),
        dict(sorted(passed.items())),
    )
