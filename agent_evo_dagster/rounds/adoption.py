"""The step from a decision to the living bank: each approved patch enters it once, on record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from agent_evo_dagster.errors import DecisionError, SkillBankError
from agent_evo_dagster.files import locked
from agent_evo_dagster.patches.decisions import require_approved, withdraw
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import AdoptionRecord, DecisionRecord
from agent_evo_dagster.patches.types import GateVerdict, Patch, PatchStatus
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.journal import LOCK, roll_forward
from agent_evo_dagster.skills.status import states
from agent_evo_dagster.skills.writing import write_skills


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a round's decisions did to the living bank."""

    approved: tuple[Patch, ...]
    adopted: tuple[str, ...]  # ids that entered the bank now
    earlier: tuple[str, ...]  # ids that had entered it before
    written: int  # files that changed


def approved_patches(patches: Sequence[Patch], decisions: pl.DataFrame) -> tuple[Patch, ...]:
    """The patches that the round's decisions approve, in their order."""
    ids = set(decisions.filter(pl.col("decision") == "approve")["patch_id"])
    return tuple(patch for patch in patches if patch.id in ids)


def adopt_approved(
    bank: SkillBank,
    ledger: Ledger,
    patches: Sequence[Patch],
    decisions: pl.DataFrame,
    *,
    now: datetime,
    people: int = 0,
) -> Adoption:
    """Bring a round's approved patches into `bank`, each once, and its compiled outputs up to date.

    The record of decisions is asked again here: a frame that says "approve" is not enough. `people` is how
    many must have approved what is not in the bank yet.

    Raises:
        DecisionError: no decision on record approves exactly this patch, or the record lacks what it held.
        ChangedSectionError: the bank has moved on since the patch was made.
        SkillBankError: a compiled SKILL.md was edited by hand, or the rules of the bank refuse a patch.
    """
    require_whole_record(bank, ledger)
    approved = approved_patches(patches, decisions)
    verdicts = {patch.id: require_approved(ledger, patch, people=people) for patch in approved}
    once = {record.patch_id for record in ledger.records() if isinstance(record, AdoptionRecord)}
    fresh = [patch for patch in approved if patch.id not in once]
    _refuse_edited(bank, {patch.skill for patch in fresh})
    report = adopt(
        bank,
        [patch.model_copy(update={"status": PatchStatus.APPROVED}) for patch in fresh],
        confirm=lambda: [require_approved(ledger, patch, people=people) for patch in fresh],
    )
    hashes = {skill.name: skill.sha256 for skill in report.compiled}
    for patch in fresh:
        ledger.record_adoption(verdicts[patch.id], {patch.skill: hashes[patch.skill]}, at=now)
    behind = [state.name for state in states(bank) if state.state in ("missing", "stale")]
    written = len(report.written) + len(write_skills(bank, behind).written)
    return Adoption(approved, report.adopted, tuple(sorted(once & verdicts.keys())), written)


def require_whole_record(bank: SkillBank, ledger: Ledger) -> None:
    """Refuse a record of decisions that was deleted or cut: the bank holds a round's patch that it lacks.

    A chain of hashes shows what was changed within it, not what is missing at its end. Patches that name no
    round were written by a person and need no decision.

    Raises:
        DecisionError: a patch of a round is part of the bank, and no approval of it is on record.
    """
    approvals = {patch_id for patch_id, held in ledger.verdicts().items() if held.decision == "approve"}
    unrecorded = [
        patch for patch in bank.active().values() if patch.source_round and patch.id not in approvals
    ]
    if unrecorded:
        first = unrecorded[0]
        raise DecisionError(
            f"{len(unrecorded)} patches of rounds are in {bank.path} without an approval on record; the "
            f"first is {first.id} of {first.source_round}: {ledger.path} was deleted or cut. "
            f"Restore it, for example from git: git -C {bank.path} checkout -- {ledger.path.name}"
        )


def not_adopted(ledger: Ledger) -> list[DecisionRecord]:
    """Approvals on record whose patch never entered the bank, in the order of the record."""
    records = ledger.records()
    once = {record.patch_id for record in records if isinstance(record, AdoptionRecord)}
    standing = {record.patch_id: record for record in records if isinstance(record, DecisionRecord)}
    return [
        record
        for patch_id, record in standing.items()
        if record.decision == "approve" and patch_id not in once
    ]


def withdraw_patch(
    bank: SkillBank,
    ledger: Ledger,
    patch: Patch,
    *,
    gate: GateVerdict | None,
    by: str,
    reason: str,
    at: datetime,
) -> DecisionRecord:
    """Take a patch back that is approved or waits; the way out where it can no longer be adopted.

    The bank is held meanwhile: what is being adopted is adopted first, and cannot be withdrawn then.

    Raises:
        DecisionError: it was adopted, or it ended otherwise.
    """
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        if patch.id in bank.active():
            raise DecisionError(
                f"{patch.id} is part of {patch.skill} and cannot be withdrawn. Take it out: "
                f"agent-evo skills rollback {patch.id} --by NAME --reason TEXT"
            )
        return withdraw(ledger, patch, gate=gate, by=by, reason=reason, at=at)


def changed_sections(bank: SkillBank, patches: Sequence[Patch]) -> dict[str, str]:
    """Why patches that were never adopted can no longer be, by id: their section is another by now."""
    held = bank.active()
    found: dict[str, str] = {}
    for patch in patches:
        try:
            now = bank.section(patch.skill, patch.target_section)
        except SkillBankError as error:
            found[patch.id] = str(error)
            continue
        if patch.id not in held and section_hash(now) != patch.base_hash:
            found[patch.id] = f"{patch.target_section} of {patch.skill} was changed since it was made"
    return found


def _refuse_edited(bank: SkillBank, skills: set[str]) -> None:
    edited = [state for state in states(bank) if state.state == "edited" and state.name in skills]
    if edited:
        raise SkillBankError(
            f"{bank.project / edited[0].output} was edited by hand, and compiling {edited[0].name} would "
            f"overwrite it. Move the edit into {bank.path / edited[0].group / edited[0].name / 'base.md'}, "
            "delete the file, and run this again."
        )
