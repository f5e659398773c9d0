"""The decisions ledger: one final word on each patch, and what became of it. No policy, no evidence.

The file is `decisions.jsonl` in the skill bank. To look and to write is one step under its lock, so that of
two who decide at once, one decides and the other is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

from pydantic import ValidationError

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.chain import Chain, Writer, read_chain, writing
from agent_evo_dagster.patches.records import (
    AdoptionRecord,
    DecisionRecord,
    Record,
    RollbackRecord,
    payload,
    read_record,
)

Verdicts: TypeAlias = dict[str, DecisionRecord]  # patch id -> its decision

_R = TypeVar("_R", DecisionRecord, AdoptionRecord)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger at `path`; the file is made with the first record."""

    path: Path

    def records(self) -> tuple[Record, ...]:
        """Every record in order, the chain verified.

        Raises:
            DecisionError: a record was changed, removed or put in between, or is of a kind not known here.
        """
        return self._typed(read_chain(self.path))

    def torn(self) -> bytes:
        """Bytes of a record that was never finished; the next one that is written moves them aside."""
        return read_chain(self.path).torn

    def verdicts(self, *, before: datetime | None = None) -> Verdicts:
        """The decision on each patch, those made earlier than `before` only."""
        return {
            record.patch_id: record
            for record in self.records()
            if isinstance(record, DecisionRecord) and (before is None or record.at < before)
        }

    def decision(self, patch_id: str) -> DecisionRecord | None:
        """The decision on one patch."""
        return self.verdicts().get(patch_id)

    def adoption(self, patch_id: str) -> AdoptionRecord | None:
        """The last adoption of a patch that was not rolled back."""
        return _adopted(self.records(), patch_id)

    def rollback(self, patch_id: str) -> RollbackRecord | None:
        """The rollback that last took a patch out, unless it is back since."""
        found: RollbackRecord | None = None
        for record in self.records():
            if isinstance(record, RollbackRecord) and patch_id in (*record.removed, *record.restored):
                found = record if patch_id in record.removed else None
        return found

    def decide(self, wanted: DecisionRecord) -> DecisionRecord:
        """Record a decision; the same one again gives back the record that stands.

        Raises:
            DecisionError: the patch was decided otherwise, or the decision was on other bytes.
        """
        with writing(self.path) as writer:
            for record in self._typed(writer.chain):
                if isinstance(record, DecisionRecord) and record.patch_id == wanted.patch_id:
                    return _same_decision(record, wanted)
            return _append(writer, wanted)

    def record_adoption(
        self, decision: DecisionRecord, compiled: Mapping[str, str], *, at: datetime
    ) -> AdoptionRecord:
        """Record that an approved patch is in the bank; again gives back the record that stands.

        Raises:
            DecisionError: the decision does not approve.
        """
        if decision.decision != "approve":
            raise DecisionError(f"{decision.patch_id} was rejected by {decision.by}: it cannot be adopted.")
        with writing(self.path) as writer:
            standing = _adopted(self._typed(writer.chain), decision.patch_id)
            record = AdoptionRecord(
                patch_id=decision.patch_id, at=at, decision_hash=decision.hash, compiled=dict(compiled)
            )
            return standing or _append(writer, record)

    def _typed(self, chain: Chain) -> tuple[Record, ...]:
        records: list[Record] = []
        for number, entry in enumerate(chain.entries, start=1):
            try:
                records.append(read_record(entry))
            except ValidationError as error:
                raise DecisionError(
                    f"Record {number} of {self.path} is of the kind {entry.get('kind')!r} with fields that "
                    f"this version does not know. Use the version that wrote it, or a newer one."
                ) from error
        return tuple(records)


def _append(writer: Writer, record: _R) -> _R:
    entry = writer.append(payload(record))
    return type(record).model_validate(entry)


def _adopted(records: tuple[Record, ...], patch_id: str) -> AdoptionRecord | None:
    """The adoption in force: a rollback ends it, and one that puts the patch back renews it."""
    last: AdoptionRecord | None = None
    standing: AdoptionRecord | None = None
    for record in records:
        if isinstance(record, AdoptionRecord) and record.patch_id == patch_id:
            last = standing = record
        elif isinstance(record, RollbackRecord) and patch_id in record.removed:
            standing = None
        elif isinstance(record, RollbackRecord) and patch_id in record.restored:
            standing = last
    return standing


def _same_decision(standing: DecisionRecord, wanted: DecisionRecord) -> DecisionRecord:
    """The standing decision where the wanted one says the same of the same bytes."""
    said = (
        f"{standing.by} decided {standing.decision!r} on {standing.at:%Y-%m-%d %H:%M} UTC: {standing.reason}"
    )
    if standing.diff_hash != wanted.diff_hash:
        raise DecisionError(
            f"{wanted.patch_id} was decided on as {standing.diff_hash[:12]}, now it is "
            f"{wanted.diff_hash[:12]}: its relations to other patches changed. {said}. "
            f"Propose the changed patch with another edit."
        )
    if standing.decision != wanted.decision:
        raise DecisionError(
            f"{wanted.patch_id} cannot be decided {wanted.decision!r}: {said}. A decision is final; "
            f"to undo an approved patch roll the skill back, to revive a rejected one propose another edit."
        )
    return standing
