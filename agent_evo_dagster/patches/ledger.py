"""The decisions ledger: the last word on each patch, and what became of it. No policy, no evidence.

The file is `decisions.jsonl` in the skill bank. To look and to write is one step under its lock, so that of
two who decide at once, one decides and the other is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from pydantic import ValidationError

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.chain import Chain, Writer, read_chain, writing
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.people import same_person
from agent_evo_dagster.patches.records import (
    AdoptionRecord,
    ConsentRecord,
    DecisionRecord,
    MadeRecord,
    Record,
    RollbackRecord,
    payload,
    read_record,
)

ENDED: Final = {"reject": "rejected", "withdraw": "withdrawn", "expire": "expired", "approve": "approved"}
Verdicts: TypeAlias = dict[str, DecisionRecord]  # patch id -> its decision

POLICY = "policy:"  # prefix of deciders that are no persons
_R = TypeVar("_R", DecisionRecord, ConsentRecord, MadeRecord, AdoptionRecord)


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
        records = tuple(one for one in self.records() if before is None or one.at < before)
        return _words(records)

    def implied(self) -> tuple[DecisionRecord, ...]:
        """The ends that no record tells by itself: of a merge with its sources, and of sources with it."""
        records = self.records()
        told = _own_words(records)
        return tuple(word for name, word in _words(records).items() if name not in told)

    def decision(self, patch_id: str) -> DecisionRecord | None:
        """The decision on one patch."""
        return self.verdicts().get(patch_id)

    def adoption(self, patch_id: str) -> AdoptionRecord | None:
        """The last adoption of a patch that was not rolled back."""
        return _adopted(self.records(), patch_id)

    def last_approval(self, decision: DecisionRecord) -> str:
        """Hash of the last record that approves what `decision` does: it, or a consent that came later."""
        later = (
            one.hash
            for one in self.records()
            if isinstance(one, ConsentRecord) and one.patch_id == decision.patch_id and one.at > decision.at
        )
        return [decision.hash, *later][-1]

    def was_adopted(self, patch_id: str) -> bool:
        """Whether a patch ever entered the bank."""
        return _was_adopted(self.records(), patch_id)

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
            records = self._typed(writer.chain)
            standing = _last_word(records, wanted.patch_id)
            return _append(writer, wanted) if standing is None else _same_decision(standing, wanted)

    def approve(self, wanted: DecisionRecord, *, people: int) -> DecisionRecord | ConsentRecord:
        """Record the approval of a person where `people` different ones must give theirs.

        Until then it is a consent. The same person again gives back what stands.

        Raises:
            DecisionError: the patch was decided otherwise, or the decision was on other bytes.
        """
        with writing(self.path) as writer:
            records = self._typed(writer.chain)
            standing = _last_word(records, wanted.patch_id)
            if standing is not None:
                _same_decision(standing, wanted)
            had = _approvals(records, wanted.patch_id, wanted.diff_hash)
            known = had.get(same_person(wanted.by))
            enough = len({*had, same_person(wanted.by)}) >= people
            if standing is not None and (known is not None or len(had) >= people):
                return standing
            if standing is None and enough:
                return _append(writer, wanted)
            return known or _append(writer, _consent(wanted))

    def withdraw(self, wanted: DecisionRecord) -> DecisionRecord:
        """Record that a patch is out before it was adopted, decided or not; again gives back the record.

        Raises:
            DecisionError: it was adopted, it ended otherwise, or the decision was on other bytes.
        """
        with writing(self.path) as writer:
            records = self._typed(writer.chain)
            standing = _last_word(records, wanted.patch_id)
            if standing is not None and standing.decision != "approve":
                return _same_decision(standing, wanted)
            if _was_adopted(records, wanted.patch_id):
                raise DecisionError(
                    f"{wanted.patch_id} was adopted: it cannot be withdrawn. Take it out of its skill: "
                    f"agent-evo skills rollback {wanted.patch_id} --by NAME --reason TEXT"
                )
            return _append(writer, wanted)

    def settle(self, wanted: DecisionRecord) -> DecisionRecord:
        """Record a decision on a patch that nobody decided; what stands by then stays, and is given back."""
        with writing(self.path) as writer:
            return _last_word(self._typed(writer.chain), wanted.patch_id) or _append(writer, wanted)

    def made(self, *, before: datetime | None = None) -> tuple[MadeRecord, ...]:
        """The patches that people had made of others, those made earlier than `before` only."""
        found = (one for one in self.records() if isinstance(one, MadeRecord))
        return tuple(one for one in found if before is None or one.at < before)

    def record_made(self, wanted: MadeRecord) -> MadeRecord:
        """Record a patch that was made of others; made again, it gives back the record that stands."""
        with writing(self.path) as writer:
            records = self._typed(writer.chain)
            same = (one for one in records if isinstance(one, MadeRecord))
            standing = next((one for one in same if one.patch_id == wanted.patch_id), None)
            return standing or _append(writer, wanted)

    def approvers(self, patch_id: str, diff_hash: str) -> tuple[str, ...]:
        """The different people who approved exactly this patch, as they gave their names; no policy."""
        return tuple(record.by for record in _approvals(self.records(), patch_id, diff_hash).values())

    def record_adoption(
        self, decision: DecisionRecord, compiled: Mapping[str, str], *, at: datetime
    ) -> AdoptionRecord:
        """Record that an approved patch is in the bank; again gives back the record that stands.

        Raises:
            DecisionError: the decision does not approve.
        """
        if decision.decision != "approve":
            word = ENDED[decision.decision]
            raise DecisionError(f"{decision.patch_id} was {word} by {decision.by}: it cannot be adopted.")
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


def _was_adopted(records: tuple[Record, ...], patch_id: str) -> bool:
    return any(isinstance(one, AdoptionRecord) and one.patch_id == patch_id for one in records)


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


def _last_word(records: tuple[Record, ...], patch_id: str) -> DecisionRecord | None:
    """The decision in force."""
    return _words(records).get(patch_id)


def _words(records: tuple[Record, ...]) -> Verdicts:
    """The decision in force on each patch: its own, else what the end of another makes of it.

    A patch that was made of others waits only while they wait: whatever becomes of one of them, what was
    judged is no longer what would be had. And its approval ends them.
    """
    own = _own_words(records)
    implied: Verdicts = {}
    for made in (one for one in records if isinstance(one, MadeRecord)):
        word = own.get(made.patch_id)
        if word is not None and word.decision == "approve":
            reason = f"{made.patch_id} stands for it, and was approved"
            implied |= {name: _ended(name, digest, word, reason) for name, digest in made.sources.items()}
        elif word is None:
            ended = (own[name] for name in made.sources if name in own and name != made.replaces)
            if (first := next(ended, None)) is not None:
                reason = f"{first.patch_id}, which it was made of, was {ENDED[first.decision]} by itself"
                digest = diff_hash(made.patch())
                implied[made.patch_id] = _ended(made.patch_id, digest, first, reason)
    return implied | own


def _own_words(records: tuple[Record, ...]) -> Verdicts:
    """The last decision on each patch, since what was approved may be withdrawn."""
    return {one.patch_id: one for one in records if isinstance(one, DecisionRecord)}


def _ended(patch_id: str, digest: str, by: DecisionRecord, reason: str) -> DecisionRecord:
    """The end of a patch that the decision `by` on another brought."""
    return DecisionRecord(
        at=by.at,
        patch_id=patch_id,
        diff_hash=digest,
        decision="withdraw",
        by=by.by,
        gate_verdict=None,
        reason=reason,
        round=None,
    )


def _approvals(
    records: tuple[Record, ...], patch_id: str, diff_hash: str
) -> dict[str, DecisionRecord | ConsentRecord]:
    """The first approval of each person."""
    found: dict[str, DecisionRecord | ConsentRecord] = {}
    for one in records:
        if isinstance(one, DecisionRecord | ConsentRecord) and one.patch_id == patch_id:
            approves = isinstance(one, ConsentRecord) or one.decision == "approve"
            if approves and one.diff_hash == diff_hash and not one.by.startswith(POLICY):
                found.setdefault(same_person(one.by), one)
    return found


def _consent(wanted: DecisionRecord) -> ConsentRecord:
    fields = wanted.model_dump(exclude={"kind", "decision", "idea", "prev", "hash"})
    return ConsentRecord.model_validate(fields)


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
            f"{wanted.patch_id} cannot be decided {wanted.decision!r}: {said}. A decision is final; an "
            f"approved patch is withdrawn (agent-evo patches withdraw) until it is adopted, and rolled back "
            f"(agent-evo skills rollback) from then on; to revive another, propose another edit."
        )
    return standing
