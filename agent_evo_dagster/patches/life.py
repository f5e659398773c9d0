"""What became of each patch after it was judged, as the record of decisions tells it. Nothing is decided."""

from collections.abc import Iterable, Iterator
from typing import Literal

import polars as pl

from agent_evo_dagster.patches.records import (
    AdoptionRecord,
    ConsentRecord,
    DecisionRecord,
    MadeRecord,
    Record,
    RollbackRecord,
)
from agent_evo_dagster.patches.types import FinalVerdict

LifeEvent = FinalVerdict | Literal["make", "consent", "adopt", "take_out", "put_back", "replay"]

# One row per thing that happened to a patch, in the order of the record.
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "patch_id": pl.String,
    "at": pl.Datetime("us", "UTC"),
    "event": pl.String,  # LifeEvent
    "by": pl.String,  # a person's name, or `policy:<name>`; null where nobody decides
    "reason": pl.String,  # null where the record gives none
    "round": pl.String,  # that took it out or replayed it; else null
}
LIFE_SCHEMA = pl.Schema(_COLUMNS)
Row = dict[str, object]


def lives(records: Iterable[Record]) -> pl.DataFrame:
    """The rows (LIFE_SCHEMA) that records of the ledger give."""
    rows = [row for record in records for row in _rows(record)]
    return pl.DataFrame(rows, schema=LIFE_SCHEMA, orient="row")


def _rows(record: Record) -> Iterator[Row]:
    if isinstance(record, DecisionRecord | ConsentRecord):
        event = record.decision if isinstance(record, DecisionRecord) else "consent"
        yield _row(record.patch_id, record, event, record.by, record.reason)
    elif isinstance(record, MadeRecord):
        yield _row(record.patch_id, record, "make", record.by, f"of {', '.join(record.sources)}")
    elif isinstance(record, AdoptionRecord):
        yield _row(record.patch_id, record, "adopt", None, None)
    elif isinstance(record, RollbackRecord):
        for name in record.removed:
            yield _row(name, record, "take_out", record.by, record.reason) | {"round": record.round}
        for name in record.restored:
            yield _row(name, record, "put_back", record.by, record.reason) | {"round": record.round}


def _row(patch_id: str, record: Record, event: LifeEvent, by: str | None, reason: str | None) -> Row:
    return {
        "patch_id": patch_id,
        "at": record.at,
        "event": event,
        "by": by,
        "reason": reason,
        "round": None,
    }
