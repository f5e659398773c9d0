"""Patches that a person makes and decides on without a round: the same files, and the same record.

There is no evidence for such a patch, so its approval is recorded as one against the gate.
"""

from dataclasses import dataclass
from datetime import datetime

from agent_evo_dagster.patches.decisions import approve, ledger_of, person, reason_given
from agent_evo_dagster.patches.document import parse_patch, patch_id, render_patch, section_hash
from agent_evo_dagster.patches.types import Action, Patch, PatchStatus
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.skills.types import CompiledSkill
from agent_evo_dagster.skills.writing import refuse_edited


@dataclass(frozen=True)
class Edit:
    """What a person wants changed, and why."""

    skill: str
    section: str
    action: Action
    body: str
    description: str
    by: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class HandmadeReport:
    """What the edit did, or would do."""

    patch: Patch
    before: CompiledSkill
    after: CompiledSkill


def adopt_by_hand(bank: SkillBank, edit: Edit, *, dry_run: bool = False) -> HandmadeReport:
    """Make a patch of `edit`, record its approval, and adopt it; again it changes nothing.

    Raises:
        SkillBankError: the bank has no such skill or section, or its rules refuse the patch.
        PatchError: the text cannot be a patch.
        DecisionError: no name or reason is given that can stand in the record, or it was rejected before.
    """
    person(edit.by)
    reason_given(edit.reason)
    patch = _patch(bank, edit)
    before = compile_skill(bank, edit.skill)
    after = compile_skill(bank, edit.skill, extra=[patch])
    refuse_edited(bank, before)
    bank.require_target(edit.skill, "a patch")
    if not dry_run:
        ledger = ledger_of(bank.path)
        decision = approve(
            ledger, patch, gate=None, by=edit.by, reason=edit.reason, at=edit.at, override=True
        )
        approved = patch.model_copy(update={"status": PatchStatus.APPROVED})
        report = adopt(bank, [approved])
        ledger.record_adoption(decision, {skill.name: skill.sha256 for skill in report.compiled}, at=edit.at)
    return HandmadeReport(patch, before, after)


def _patch(bank: SkillBank, edit: Edit) -> Patch:
    """The patch against the section as it is now."""
    digest = section_hash(bank.section(edit.skill, edit.section))
    patch = Patch(
        id=patch_id(
            skill=edit.skill, section=edit.section, action=edit.action, base_hash=digest, body=edit.body
        ),
        group=bank.ref(edit.skill).group,
        skill=edit.skill,
        target_section=edit.section,
        action=edit.action,
        description=edit.description,
        base_hash=digest,
        created=edit.at,
        body=edit.body,
    )
    return parse_patch(render_patch(patch), origin=f"the edit of {edit.skill}")
