"""The conservation law of segments: every event belongs to exactly one. Checks, no repairs."""

import polars as pl

_SHOWN = 5


def violations(events: pl.DataFrame, segments: pl.DataFrame) -> list[str]:
    """What breaks the law, one line each, with examples; empty where it holds."""
    held = (
        segments.select("segment_id", pl.col("event_ids").alias("event_id")).explode("event_id").drop_nulls()
    )
    known = events.select(pl.col("event_id").unique())
    found = []
    if (lost := known.join(held, on="event_id", how="anti")).height:
        found.append(f"{lost.height} events are in no segment: {_some(lost)}")
    twice = held.group_by("event_id").len().filter(pl.col("len") > 1)
    if twice.height:
        found.append(f"{twice.height} events are in more than one place: {_some(twice)}")
    if (strange := held.unique("event_id").join(known, on="event_id", how="anti")).height:
        found.append(f"{strange.height} events of segments are not among the events: {_some(strange)}")
    repeated = segments.group_by("segment_id").len().filter(pl.col("len") > 1)
    if repeated.height:
        found.append(f"{repeated.height} segment ids are not unique: {_some(repeated, 'segment_id')}")
    return found


def _some(frame: pl.DataFrame, column: str = "event_id") -> str:
    names = frame.get_column(column).sort().head(_SHOWN).to_list()
    return ", ".join(names) + (", ..." if frame.height > _SHOWN else "")
