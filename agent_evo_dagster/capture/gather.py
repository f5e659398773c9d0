"""A round's slices, of whatever sources, as one frame of events. Not which slices a round takes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from agent_evo_dagster.capture.client_totals import beyond
from agent_evo_dagster.capture.doubles import once
from agent_evo_dagster.capture.reconcile import Reconciled, reconcile
from agent_evo_dagster.capture.sources.protocol import Reading
from agent_evo_dagster.capture.sources.registry import sources
from agent_evo_dagster.capture.sources.transcripts import FOLDER as TRANSCRIPTS
from agent_evo_dagster.capture.types import EVENT_SCHEMA, FileSlice
from agent_evo_dagster.errors import CaptureError

_TWICE = "hook/captured_twice"  # a kind of line that is no event of its own


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the slices of a round hold."""

    events: pl.DataFrame  # EVENT_SCHEMA, of all sources, joined
    quarantine: pl.DataFrame  # QUARANTINE_SCHEMA
    coverage: pl.DataFrame  # COVERAGE_SCHEMA
    usage: pl.DataFrame  # USAGE_SCHEMA
    totals: pl.DataFrame  # TOTAL_SCHEMA
    lines: int
    passed: Mapping[str, int]  # kind of line -> lines that are no event of their own


def read_sources(
    spool: Path, slices: Sequence[FileSlice], *, key: bytes, earlier: Sequence[FileSlice] = ()
) -> Gathered:
    """Read the slices, each by its source, and join what hooks and transcripts tell.

    `earlier` is what rounds before took of sessions whose transcripts `slices` holds: it tells what in these
    is news. Nothing of it is told again, but for the coverage of a session, which is that of all of it.

    Raises:
        CaptureError: a slice is of no source, or its file no longer holds its bytes.
    """
    readings = _read(spool, [*earlier, *slices], key=key)
    told = readings.get(TRANSCRIPTS, Reading()).events
    captured, doubles = once(_events(reading for name, reading in readings.items() if name != TRANSCRIPTS))
    if not earlier:
        joined = reconcile(captured, told)
        return _gathered(readings.values(), joined, doubles, doubles)
    before = _read(spool, earlier, key=key)
    known = _events(before.values())
    is_news = ~pl.col("event_id").is_in(known["event_id"].implode())
    sessions = pl.concat([captured, told]).filter(is_news)["session_id"].unique().implode()
    of_these = pl.col("session_id").is_in(sessions)
    joined = reconcile(captured.filter(of_these), told.filter(of_these))
    corrected = joined.coverage.with_columns(
        corrects=pl.col("session_id").is_in(known["session_id"].unique().implode())
    )
    news = [_beyond(whole, before.get(folder, Reading())) for folder, whole in readings.items()]
    result = Reconciled(joined.events.filter(is_news), corrected)
    return _gathered(news, result, doubles, doubles.filter(is_news))


def _read(spool: Path, slices: Sequence[FileSlice], *, key: bytes) -> dict[str, Reading]:
    """What each source reads, by its folder."""
    by_folder: dict[str, list[FileSlice]] = defaultdict(list)
    for part in slices:
        by_folder[PurePosixPath(part.file).parts[0]].append(part)
    known = {source.folder: source for source in sources()}
    if unknown := by_folder.keys() - known.keys():
        raise CaptureError(
            f"The round reads files below {', '.join(sorted(unknown))}, which is a folder of no source "
            f"({', '.join(known)}). Was it opened by a newer version? Install that one."
        )
    return {
        folder: source.read(spool, by_folder[folder], key=key)
        for folder, source in known.items()
        if folder in by_folder
    }


def _beyond(whole: Reading, before: Reading) -> Reading:
    """What a reading holds beside its events beyond one of its first slices."""
    return Reading(
        quarantine=whole.quarantine[before.quarantine.height :],
        lines=whole.lines - before.lines,
        passed=Counter(whole.passed) - Counter(before.passed),
        usage=whole.usage.join(before.usage, on=["session_id", "message_id"], how="anti"),
        totals=beyond(whole.totals, before.totals),
    )


def _events(readings: Iterable[Reading]) -> pl.DataFrame:
    """The events of some readings, in their order."""
    return pl.concat([pl.DataFrame(schema=EVENT_SCHEMA), *(reading.events for reading in readings)])


def _gathered(
    readings: Iterable[Reading], joined: Reconciled, doubles: pl.DataFrame, new_doubles: pl.DataFrame
) -> Gathered:
    """The parts of a result; all `doubles` are in the coverage, and the new ones are passed lines."""
    twice = dict(doubles.group_by("session_id").len().iter_rows())
    in_session = pl.col("session_id").replace_strict(twice, default=0, return_dtype=pl.Int64)
    passed = Counter({_TWICE: new_doubles.height} if new_doubles.height else {})
    quarantine, usage, totals = [Reading().quarantine], [Reading().usage], [Reading().totals]
    lines = 0
    for reading in readings:
        passed.update(reading.passed)
        quarantine.append(reading.quarantine)
        usage.append(reading.usage)
        totals.append(reading.totals)
        lines += reading.lines
    return Gathered(
        joined.events,
        pl.concat(quarantine),
        joined.coverage.with_columns(captured_twice=in_session),
        pl.concat(usage),
        pl.concat(totals),
        lines,
        dict(sorted(passed.items())),
    )
