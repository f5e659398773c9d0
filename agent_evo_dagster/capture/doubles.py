"""Events that two hooks of one client captured, such as a plugin's and a project's: each once. No files.

The client gives all hooks of an event the same input, at the same time. So two records tell of one event
where all of their content is the same and it names a call of the client: a call begins and ends once. Content
without a call's id may be the same in two real events. It counts as one only within two seconds, and only in
a session in which nearly all events were captured as often: a second hook captures all that the first does.
"""

from typing import NamedTuple

import polars as pl

from agent_evo_dagster.capture.types import Source

_WINDOW = pl.duration(seconds=2)
_LEAST = 2  # events captured more than once that tell of a second hook: one may be a repetition
_MOSTLY = 3  # times as many as those captured once
_NAMES = ["session_id", "kind", "agent_id", "own_id", "prompt_id", "tool_name", "source"]
_BODIES = ["tool_input", "tool_response", "error", "text", "extra"]
_CONTENT = [*_NAMES, "agent_type", "duration_ms", *_BODIES]


class Once(NamedTuple):
    """Events without their doubles."""

    events: pl.DataFrame  # as they were; a derived call id is that of the record that stays
    doubles: pl.DataFrame  # EVENT_SCHEMA


def once(events: pl.DataFrame) -> Once:
    """The events that hooks captured (EVENT_SCHEMA), each once: the first record of it stays."""
    marked = events.with_columns(own_id=_own_id()).with_row_index("row")
    alike = marked.filter(pl.struct(*_NAMES, *_lengths()).is_duplicated() & (pl.col("source") == Source.HOOK))
    alike = alike.filter(pl.struct(_CONTENT).is_duplicated())
    if alike.is_empty():
        return Once(events, events.clear())
    placed = _placed(alike.sort("at", "row"))
    placed = placed.join(_copies(marked, placed), on="session_id", maintain_order="left")
    same = [*_CONTENT, "cluster", pl.col("place") // pl.col("copies")]
    placed = placed.with_columns(stays=pl.col("tool_use_id").first().over(same))
    is_double = (
        pl.when(pl.col("own_id").is_not_null())
        .then(pl.col("place") > 0)
        .otherwise((pl.col("copies") > 1) & (pl.col("place") % pl.col("copies") != 0))
    )
    doubles = placed.filter(is_double)
    rows = pl.col("row").is_in(doubles["row"].implode())
    kept = _rejoined(marked.filter(~rows), doubles)
    return Once(kept.select(events.columns), marked.filter(rows).select(events.columns))


def _own_id() -> pl.Expr:
    """The call's id, where the client gave one."""
    return pl.when(~pl.col("derived").list.contains("tool_use_id")).then("tool_use_id")


def _lengths() -> list[pl.Expr]:
    """What tells most contents apart without a look at them."""
    return [pl.col(name).str.len_bytes().alias(f"{name}_length") for name in _BODIES]


def _placed(alike: pl.DataFrame) -> pl.DataFrame:
    """Each record's place among those of one content that may be one event; `alike` is in order of time."""
    gap = pl.col("at").diff().over(_CONTENT)
    begins = gap.is_null() | (pl.col("own_id").is_null() & (gap > _WINDOW))
    clusters = alike.with_columns(cluster=begins.cum_sum().over(_CONTENT))
    return clusters.with_columns(place=pl.int_range(pl.len()).over([*_CONTENT, "cluster"]))


def _copies(marked: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """How often each event of a session in `placed` was captured, where nearly all were more than once.

    It is the least that occurs: where an event happened again within the window, there are more records.
    """
    found: dict[str, list[int]] = {}
    clusters = placed.group_by([*_CONTENT, "cluster"]).len().select("session_id", "len")
    for session, size in clusters.iter_rows():
        found.setdefault(session, []).append(size)
    of_these = (pl.col("source") == Source.HOOK) & pl.col("session_id").is_in(list(found))
    counts = dict(marked.filter(of_these).group_by("session_id").len().iter_rows())
    copies = {}
    for session, sizes in found.items():
        several = [size for size in sizes if size > 1]
        alone = counts[session] - sum(several)
        copies[session] = min(several) if len(several) >= max(_LEAST, _MOSTLY * alone) else 1
    return pl.DataFrame({"session_id": list(copies), "copies": list(copies.values())})


def _rejoined(kept: pl.DataFrame, doubles: pl.DataFrame) -> pl.DataFrame:
    """Where an end was joined to a beginning that goes, it is joined to the one that stays."""
    begun = doubles.filter((pl.col("kind") == "PreToolUse") & pl.col("own_id").is_null())
    if begun.is_empty():
        return kept
    ids = dict(begun.select("tool_use_id", "stays").iter_rows())
    return kept.with_columns(pl.col("tool_use_id").replace(ids))
