"""How evaluated rounds go on from one another, and the line that leads to the newest. No words, no plots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class Point:
    """Held-out accuracy after a round, or before one, with its 95 % interval."""

    round: str
    number: int  # where it is drawn: that of the round, or one less for what was before it
    accuracy: float
    low: float
    high: float
    joined: int | None = None  # number of the point that it goes on from; None: a point of its own


@dataclass(frozen=True, slots=True)
class Course:
    """The points of one mode of decoding, each joined to that of its parent alone."""

    points: tuple[Point, ...]  # by number, with what was before the first round known
    start: Point | None  # before the first round of the line; None: not measured
    line: tuple[Point, ...]  # after each round that the newest comes from, and after it
    beside: tuple[Point, ...]  # after rounds that are not in that line


def course_of(trend: pl.DataFrame, mode: str) -> Course | None:
    """The course that rows of TREND_SCHEMA tell; None where no round was evaluated in that mode."""
    known = trend.filter(pl.col("mode") == mode).sort("number")
    before, after = (
        {row["round"]: row for row in known.filter(pl.col("policy") == policy).iter_rows(named=True)}
        for policy in ("before", "after")
    )
    if not after:
        return None
    first, newest = next(iter(after)), list(after)[-1]
    start = _start(before, first)
    points = [_point(row, _joined(row, after)) for row in after.values()]
    if start is not None and points[0].joined is None:
        points[0] = _point(after[first], start.number)
    line = _line(newest, after)
    told = tuple(one for one in points if one.round in line)
    beside = tuple(one for one in points if one.round not in line)
    drawn = points if start is None else [start, *points]
    return Course(tuple(drawn), _start(before, told[0].round), told, beside)


def _joined(row: Mapping[str, Any], after: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The number of the parent, where that was evaluated; a round comes after its parent."""
    parent = after.get(row["parent"])
    return parent["number"] if parent is not None and parent["number"] < row["number"] else None


def _line(newest: str, after: Mapping[str, Mapping[str, Any]]) -> set[str]:
    found, row = {newest}, after[newest]
    while _joined(row, after) is not None:
        row = after[row["parent"]]
        found.add(row["round"])
    return found


def _start(before: Mapping[str, Mapping[str, Any]], name: str) -> Point | None:
    row = before.get(name)
    return None if row is None else _point({**row, "number": row["number"] - 1}, None)


def _point(row: Mapping[str, Any], joined: int | None) -> Point:
    figures = (row["accuracy"], row["accuracy_low"], row["accuracy_high"])
    return Point(row["round"], row["number"], *figures, joined)
