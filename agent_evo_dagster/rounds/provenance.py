"""Where a patch comes from: its findings, their segments, and the events in these."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from agent_evo_dagster.patches.types import Patch

SHOWN = 5  # of the segments of a finding, and of the events of a segment


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that a patch rests on, with as much of what is below it as a person looks at."""

    kind: str  # "finding" | "segment" | "evidence" | "event"
    id: str
    what: str
    parts: int  # how many things are below it
    below: tuple["Source", ...] = ()

    def as_json(self) -> dict[str, object]:
        """The same as plain values, for metadata."""
        shown: dict[str, object] = {self.kind: self.id, "what": self.what}
        if self.parts:
            shown |= {"parts": self.parts, "first": [item.as_json() for item in self.below]}
        return shown


def sources_of(patch: Patch, findings: pl.DataFrame, segments: pl.DataFrame) -> list[Source]:
    """The findings of a patch, in its order, each down to events.

    Args:
        patch: as it was proposed.
        findings: FINDING_SCHEMA, of the round that proposed it.
        segments: SEGMENT_SCHEMA, of the same round.
    """
    wanted = findings.filter(pl.col("finding_id").is_in(patch.findings))
    rows = {row["finding_id"]: row for row in wanted.iter_rows(named=True)}
    evidence = [item for row in rows.values() for item in row["evidence"]]
    cut = segments.filter(pl.col("segment_id").is_in(evidence))
    known = {row["segment_id"]: row for row in cut.iter_rows(named=True)}
    return [_finding(name, rows.get(name), known) for name in patch.findings]


def _finding(name: str, row: dict[str, object] | None, segments: dict[str, dict[str, object]]) -> Source:
    if row is None:
        return Source("finding", name, "not in this round", 0)
    evidence = _strings(row["evidence"])
    below = tuple(_evidence(item, segments.get(item)) for item in evidence[:SHOWN])
    return Source("finding", name, str(row["summary"]), len(evidence), below)


def _evidence(name: str, row: dict[str, object] | None) -> Source:
    if row is None:
        return Source("evidence", name, "a figure of the training run", 0)
    events = _strings(row["event_ids"])
    below = tuple(Source("event", item, "", 0) for item in events[:SHOWN])
    return Source("segment", name, str(row["kind"]), len(events), below)


def _strings(value: object) -> Sequence[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
