"""What a person reviews: the patches of all rounds with evidence and decision. It decides nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.change import settings_change, settings_json, unified_diff
from agent_evo_dagster.patches.evidence import GateEvidence
from agent_evo_dagster.patches.frames import row_patch
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import DecisionRecord, MadeRecord
from agent_evo_dagster.patches.types import GateVerdict, Patch, PatchStatus
from agent_evo_dagster.warehouse import Warehouse

_ROUND = re.compile(r"round-([0-9]{1,9})")
NO_ROUND: Final = "none yet"  # of a patch that people had made of others, until a round takes it up


@dataclass(frozen=True, slots=True)
class Review:
    """One patch as the last round that proposed it shows it."""

    round: str
    patch: Patch
    base: str  # the section's text that it was made against
    diff: str
    settings: str  # JSON text {setting: [old, new]}
    evidence: GateEvidence | None
    decision: DecisionRecord | None
    adopted: bool
    rolled_back: bool

    @property
    def open(self) -> bool:
        """Whether it may still be adopted: it waits, or is approved and not adopted."""
        return not self.adopted and self.status in (
            PatchStatus.PROPOSED,
            PatchStatus.EVALUATED,
            PatchStatus.APPROVED,
        )

    @property
    def waits(self) -> bool:
        """Whether nobody decided on it yet."""
        return self.open and self.decision is None

    @property
    def taken_up(self) -> bool:
        """Whether a round proposes it: only then it can be judged, approved and adopted."""
        return self.round != NO_ROUND

    @property
    def gate(self) -> GateVerdict | None:
        """What the gate says of it; None where it was not judged."""
        return None if self.evidence is None else self.evidence.verdict

    @property
    def status(self) -> PatchStatus:
        """Where it is in its life."""
        if self.decision is not None and self.decision.decision != "approve":
            return PatchStatus.REJECTED if self.decision.decision == "reject" else PatchStatus.ARCHIVED
        if self.rolled_back:
            return PatchStatus.DEPRECATED
        if self.adopted:
            return PatchStatus.ACTIVE
        if self.decision is not None:
            return PatchStatus.APPROVED
        return PatchStatus.PROPOSED if self.evidence is None else PatchStatus.EVALUATED


def reviews(store: Warehouse, ledger: Ledger) -> list[Review]:
    """Every patch that a round in `store` proposes, in the order of rounds; then what waits for one.

    Its evidence is the newest that there is, since a later round may have replayed it, unless another judge
    had rejected it.

    Raises:
        DecisionError: the ledger's chain is broken.
        PatchError: a stored row whose columns do not belong together.
    """
    verdicts = ledger.verdicts()
    found: dict[str, Review] = {}
    for key in _rounds(store, "skill_patches"):
        judged = _evidence(store, "patch_evaluation", key)
        for row in store.read(["skill_patches"], key).iter_rows(named=True):
            review = _review(key, row, judged, verdicts, ledger)
            found.pop(review.patch.id, None)
            found[review.patch.id] = review
    for key in _rounds(store, "patch_replay"):
        for patch_id, evidence in _evidence(store, "patch_replay", key).items():
            if patch_id in found and _number(key) > _number(found[patch_id].round):
                known = found[patch_id].evidence
                found[patch_id] = replace(found[patch_id], evidence=newest(known, evidence))
    made = (one for one in ledger.made() if one.patch_id not in found)
    return [*found.values(), *(_made_review(one, verdicts) for one in made)]


def newest(known: GateEvidence | None, replayed: GateEvidence) -> GateEvidence:
    """What holds of older evidence and a later replay's, which undoes no rejection of another judge."""
    rejected = (GateVerdict.REJECT, GateVerdict.REJECT_UNVERIFIED)
    if known is None or known.judge == replayed.judge or known.verdict not in rejected:
        return replayed
    return known


def find_review(all_reviews: list[Review], patch_id: str) -> Review:
    """The review of the patch whose id is, or alone begins with, `patch_id`.

    Raises:
        DecisionError: none or several do.
    """
    found = [review for review in all_reviews if review.patch.id.startswith(patch_id)] if patch_id else []
    if len(found) == 1:
        return found[0]
    known = ", ".join(review.patch.id for review in (found or all_reviews)[-20:]) or "none: run a round first"
    what = f"{len(found)} patches begin" if found else "No patch begins"
    raise DecisionError(f"{what} with {patch_id!r}. Give the id of one of these: {known}.")


def _review(
    round_key: str,
    row: dict[str, object],
    judged: Mapping[str, GateEvidence],
    verdicts: Mapping[str, DecisionRecord],
    ledger: Ledger,
) -> Review:
    patch, _ = row_patch(row)
    decision = verdicts.get(patch.id)
    return Review(
        round=round_key,
        patch=patch,
        base=str(row["base"]),
        diff=str(row["diff"]),
        settings=str(row["settings"]),
        evidence=judged.get(patch.id),
        decision=decision,
        adopted=decision is not None and ledger.adoption(patch.id) is not None,
        rolled_back=decision is not None and ledger.rollback(patch.id) is not None,
    )


def _made_review(record: MadeRecord, verdicts: Mapping[str, DecisionRecord]) -> Review:
    """A patch that no round has taken up: nothing is known of it but what it says."""
    patch = record.patch()
    return Review(
        round=NO_ROUND,
        patch=patch,
        base=record.base,
        diff=unified_diff(record.base, patch),
        settings=settings_json(settings_change(record.base, patch)),
        evidence=None,
        decision=verdicts.get(patch.id),
        adopted=False,
        rolled_back=False,
    )


def _rounds(store: Warehouse, asset: str) -> list[str]:
    """The rounds that have `asset`, by number."""
    return sorted(filter(_ROUND.fullmatch, store.rounds([asset])), key=_number)


def _number(key: str) -> int:
    return int(key.removeprefix("round-"))


def _evidence(store: Warehouse, asset: str, round_key: str) -> dict[str, GateEvidence]:
    if round_key not in store.rounds([asset]):
        return {}
    rows = store.read([asset], round_key).select("patch_id", "evidence").iter_rows()
    return {patch_id: GateEvidence.model_validate_json(text) for patch_id, text in rows}
