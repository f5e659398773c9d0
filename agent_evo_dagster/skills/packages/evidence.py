"""What speaks for a package: the gate's verdict and the decision on each of its patches, and what is missing.

Read from the record of decisions of the bank, every time: what stands in a package is what was true then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_evo_dagster.errors import PatchError, SkillBankError
from agent_evo_dagster.patches.change import diff_hash
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import DecisionRecord, RollbackRecord
from agent_evo_dagster.patches.types import GateVerdict, Patch
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many, compile_skill
from agent_evo_dagster.skills.types import CompiledSkill


@dataclass(frozen=True)
class PatchEvidence:
    """What is on record about one patch of a package."""

    patch: str
    skill: str
    round: str | None  # that proposed it; None: a person wrote it
    gate: str | None  # the verdict that the decision rests on; None: decided without, or not at all
    decision: str | None  # approve or reject
    by: str | None
    record: str | None  # hash of the decision's record
    missing: str = ""  # why it keeps the package from promotion; empty: nothing does


@dataclass(frozen=True)
class Review:
    """What a person looks at before a package is made current."""

    patches: tuple[PatchEvidence, ...]
    changed: tuple[str, ...]  # skills whose bytes differ from those of the parent
    missing: tuple[str, ...]  # everything that keeps it from promotion; empty: it can be promoted


@dataclass(frozen=True)
class _Record:
    """The lines of the ledger that say something of patches."""

    verdicts: Mapping[str, DecisionRecord]
    rolled_back: Mapping[str, RollbackRecord]


def patches_of(bank: SkillBank, compiled: Sequence[CompiledSkill]) -> list[Patch]:
    """The patches that compiled skills consist of, applied or part of a base, in their order.

    Raises:
        SkillBankError: the file of one is missing.
    """
    found = []
    for skill in compiled:
        ref = bank.ref(skill.name)
        for name in (*skill.archived, *skill.applied):
            patch = bank.patch(ref, name)
            if patch is None:
                raise SkillBankError(f"{skill.name} consists of patch {name}, whose file is missing.")
            found.append(patch)
    return found


def evidence_of(patches: Sequence[Patch], ledger: Ledger) -> tuple[PatchEvidence, ...]:
    """What the ledger holds on each of the patches.

    Raises:
        DecisionError: the ledger is not whole.
    """
    held = _read(ledger)
    return tuple(_evidence(patch, held) for patch in patches)


def review_promotion(
    bank: SkillBank, parent: SkillBank, ledger: Ledger, *, profile: str | None = None
) -> Review:
    """Whether everything in which `bank` differs from `parent` was accepted by the gate and approved.

    Every patch needs both. And no skill may differ by more than its patches: an edited base or a patch that
    was left out changes what agents do as well, and no gate has seen it.

    Raises:
        SkillBankError: a skill of one of them does not compile.
    """
    compiled = compile_many(bank, [ref.name for ref in bank.skills()], profile=profile)
    patches = patches_of(bank, compiled)
    evidence = evidence_of(patches, ledger)
    before = {skill.name: skill for skill in compile_many(parent, [ref.name for ref in parent.skills()])}
    changed = [
        skill.name
        for skill in compiled
        if skill.name not in before or before[skill.name].sha256 != skill.sha256
    ]
    gone = sorted(before.keys() - {skill.name for skill in compiled})
    missing = [f"{item.patch} ({item.skill}): {item.missing}" for item in evidence if item.missing]
    missing += [why for skill in compiled for why in _unexplained(skill, before, parent, patches)]
    missing += [f"{name}: the parent has this skill, the package has not" for name in gone]
    return Review(evidence, tuple(changed + gone), tuple(missing))


def review_release(bank: SkillBank, compiled: Sequence[CompiledSkill], ledger: Ledger) -> Review:
    """Whether a bank can be frozen as stable: each patch of a round that is in it was approved.

    What a person wrote, as base or as patch, needs no gate there: stable is what the bank is.
    """
    evidence = evidence_of(patches_of(bank, compiled), ledger)
    missing = [
        f"{item.patch} ({item.skill}): {item.round} proposed it, and no approval is on record"
        for item in evidence
        if item.round is not None and item.decision != "approve"
    ]
    return Review(evidence, (), tuple(missing))


def _read(ledger: Ledger) -> _Record:
    """What the ledger says of patches; a rollback that put a patch back ends the one before."""
    verdicts: dict[str, DecisionRecord] = {}
    rolled_back: dict[str, RollbackRecord] = {}
    for record in ledger.records():
        if isinstance(record, DecisionRecord):
            verdicts[record.patch_id] = record
        elif isinstance(record, RollbackRecord):
            rolled_back.update(dict.fromkeys(record.removed, record))
            for name in record.restored:
                rolled_back.pop(name, None)
    return _Record(verdicts, rolled_back)


def _evidence(patch: Patch, record: _Record) -> PatchEvidence:
    decision = record.verdicts.get(patch.id)
    return PatchEvidence(
        patch=patch.id,
        skill=patch.skill,
        round=patch.source_round,
        gate=None if decision is None or decision.gate_verdict is None else decision.gate_verdict.value,
        decision=None if decision is None else decision.decision,
        by=None if decision is None else decision.by,
        record=None if decision is None else decision.hash,
        missing=_missing(patch, decision, record.rolled_back.get(patch.id)),
    )


def _missing(patch: Patch, decision: DecisionRecord | None, rolled_back: RollbackRecord | None) -> str:
    if decision is None:
        return "no decision on it is on record"
    if decision.decision != "approve":
        return f"{decision.by} rejected it"
    if decision.diff_hash != diff_hash(patch):
        return "the decision on record was about other bytes"
    if rolled_back is not None:
        return f"{rolled_back.by} took it out again: {rolled_back.reason}"
    verdict = decision.gate_verdict
    if verdict is not GateVerdict.ACCEPT:
        found = "has not judged it" if verdict is None else f"says {verdict.value}, not accept"
        return f"{decision.by} approved it, but the gate {found}"
    return ""


def _unexplained(
    skill: CompiledSkill, before: Mapping[str, CompiledSkill], parent: SkillBank, patches: Sequence[Patch]
) -> Iterator[str]:
    """Why the skill is not what its patches make of the parent's."""
    if skill.name not in before:
        yield f"{skill.name}: the parent has no such skill; freeze a stable package that has it first"
        return
    held = before[skill.name]
    known = {*held.applied, *held.archived}
    fresh = [patch for patch in patches if patch.skill == skill.name and patch.id not in known]
    out = sorted(known - {*skill.applied, *skill.archived})
    if out:
        yield f"{skill.name}: {', '.join(out)} of the parent was left out; no gate has seen it without"
        return
    try:
        explained = compile_skill(parent, skill.name, extra=fresh).sha256 == skill.sha256
    except (SkillBankError, PatchError):
        explained = False
    if not explained:
        yield (
            f"{skill.name}: it differs from the parent by more than its patches, such as an edited base.md; "
            f"freeze a stable package with that edit first"
        )
