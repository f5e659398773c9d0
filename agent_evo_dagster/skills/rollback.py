"""Going back: a skill to one of its kept versions, or to what it is without one patch. On record, undoable.

Files, manifest, compiled output and the line in the record of decisions change together or not at all. The
patches that are taken out stay in the manifest, under `disabled`.
"""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_evo_dagster.errors import PatchError, SkillBankError
from agent_evo_dagster.files import locked
from agent_evo_dagster.patches.decisions import LEDGER_NAME, ledger_of, person, reason_given
from agent_evo_dagster.patches.document import render_patch
from agent_evo_dagster.patches.records import RollbackRecord, payload
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill, compile_source
from agent_evo_dagster.skills.journal import LOCK, RecordLine, Write, commit, needed, roll_forward
from agent_evo_dagster.skills.manifest import Manifest, with_lists
from agent_evo_dagster.skills.rules import check_patches
from agent_evo_dagster.skills.types import CompiledSkill, SkillRef, SkillSource
from agent_evo_dagster.skills.versions import (
    find_version,
    keep_base,
    number_of,
    recipe_of,
    version_base,
    version_text,
)
from agent_evo_dagster.skills.writing import output_writes, refuse_edited

_PATCH = re.compile(r"p-[0-9a-f]{1,16}")


@dataclass(frozen=True)
class Rollback:
    """Who goes back, why and when; a dry run writes nothing.

    A round that regressed goes back by itself: `round` names it then, and `by` is a policy.
    """

    by: str
    reason: str
    at: datetime
    dry_run: bool = False
    round: str | None = None

    @property
    def decider(self) -> str:
        """Who stands in the record.

        Raises:
            DecisionError: no person's name, where no round goes back.
        """
        return person(self.by) if self.round is None else self.by


@dataclass(frozen=True)
class RollbackReport:
    """What going back did, or would do."""

    skill: str
    before: CompiledSkill | None  # None where the skill did not compile until then
    after: CompiledSkill
    from_version: int | None  # numbers of kept versions; None: not kept (yet)
    to_version: int | None
    removed: tuple[str, ...]  # patches that are out now
    restored: tuple[str, ...]  # patches that are in again
    written: tuple[Path, ...]

    @property
    def changed(self) -> bool:
        """Whether the skill was, or would be, made from anything else than until then."""
        return self.before is None or recipe_of(self.before) != recipe_of(self.after)


@dataclass(frozen=True)
class _Target:
    """What the skill is to be made from."""

    base: str
    applied: tuple[str, ...]
    archived: tuple[str, ...]
    text: str | None  # the compiled bytes, where they are known


def is_patch_id(text: str) -> bool:
    """Whether `text` can be a patch's id or the beginning of one."""
    return _PATCH.fullmatch(text) is not None


def roll_back_skill(bank: SkillBank, skill: str, to: str, asked: Rollback) -> RollbackReport:
    """Bring `skill` back to the version `to`, its number or the beginning of its hash: the same bytes.

    The base file comes back with it, where it was another then.

    Raises:
        SkillBankError: no such version, its parts were changed since, or the output was edited by hand.
        DecisionError: no name or reason is given that can stand in the record.
    """
    ref = bank.ref(skill)
    with _held(bank, asked):
        version = find_version(bank, ref, to)
        text, base, recipe = (
            version_text(bank, ref, version),
            version_base(bank, ref, version),
            version.recipe,
        )
        return _go(bank, ref, _Target(base, recipe.applied, recipe.archived, text), asked)


def roll_back_patch(bank: SkillBank, patch: str, asked: Rollback) -> RollbackReport:
    """Take one active patch, by its id or the beginning of it, out of its skill.

    Raises:
        SkillBankError: no skill has it, or others were made on top of it.
        DecisionError: no name or reason is given that can stand in the record.
    """
    with _held(bank, asked):
        ref, name = _holder(bank, patch)
        manifest = bank.manifest(ref)
        if name in manifest.archived:
            raise SkillBankError(
                f"patch {name} is part of the base of {ref.name} since that was squashed; go back to a "
                f"version from before: agent-evo skills versions {ref.name}."
            )
        kept = tuple(other for other in manifest.applied if other != name)
        target = _Target(bank.read(bank.relative(ref, "base.md")), kept, manifest.archived, None)
        try:
            return _go(bank, ref, target, asked)
        except SkillBankError as error:
            on_top = _on_top(bank, ref, name)
            if not on_top:
                raise
            raise SkillBankError(
                f"patch {name} cannot be taken out of {ref.name} alone: {', '.join(on_top)} came after it. "
                f"Take those out first, the last one first, or go back to a version from before: "
                f"agent-evo skills versions {ref.name}. What stands in the way: {error}"
            ) from error


@contextlib.contextmanager
def _held(bank: SkillBank, asked: Rollback) -> Iterator[None]:
    """The bank alone and whole, where something is to be written; the record of decisions whole."""
    if asked.dry_run:
        yield
        return
    _ = asked.decider
    reason_given(asked.reason)
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        ledger_of(bank.path).records()
        yield


def _holder(bank: SkillBank, patch: str) -> tuple[SkillRef, str]:
    """The skill that has the patch, and its whole id."""
    found: list[tuple[SkillRef, str]] = []
    for ref in bank.skills():
        manifest = bank.manifest(ref)
        names = dict.fromkeys((*manifest.active, *manifest.disabled, *manifest.archived))
        found += [(ref, name) for name in names if is_patch_id(patch) and name.startswith(patch)]
    if len(found) == 1:
        return found[0]
    several = ", ".join(f"{name} of {ref.name}" for ref, name in found)
    what = f"several patches begin with {patch!r}: {several}" if found else f"no skill has a patch {patch!r}"
    raise SkillBankError(f"{what}. Give a patch of {bank.path}, or a skill with --to VERSION.")


def _on_top(bank: SkillBank, ref: SkillRef, patch: str) -> list[str]:
    """Active patches that came after `patch` on its section or depend on it, in any skill."""
    own = bank.source(ref.name).patches
    position = next((at for at, other in enumerate(own) if other.id == patch), None)
    if position is None:
        return []
    section = own[position].target_section
    later = [other.id for other in own[position + 1 :] if other.target_section == section]
    naming = [other.id for other in bank.active().values() if patch in other.depends_on]
    return list(dict.fromkeys((*later, *naming)))


def _go(bank: SkillBank, ref: SkillRef, target: _Target, asked: Rollback) -> RollbackReport:
    """Make the skill from `target`, all or nothing."""
    held = bank.manifest(ref)
    manifest = _manifest(held, target)
    source, revived = _revived(bank.source_of(ref, target.base, manifest))
    after = _compiled(bank, source, target, changed=_parts(held) ^ _parts(manifest))
    before = _current(bank, ref)
    refuse_edited(bank, after)
    report = RollbackReport(
        skill=ref.name,
        before=before,
        after=after,
        from_version=None if before is None else number_of(bank, before),
        to_version=number_of(bank, after),
        removed=tuple(name for name in (*held.applied, *held.archived) if name not in _parts(manifest)),
        restored=tuple(name for name in (*target.applied, *target.archived) if name not in _parts(held)),
        written=(),
    )
    if asked.dry_run or not report.changed:
        return report
    writes = [
        *_bank_writes(bank, ref, target, manifest, revived),
        *output_writes(bank, [after], before=[] if before is None else [before]),
    ]
    line = RecordLine(path=LEDGER_NAME, payload=payload(_record(report, asked)))
    written = commit(bank.path, writes, line=line)
    return dataclasses.replace(
        report,
        from_version=None if before is None else number_of(bank, before),
        to_version=number_of(bank, after),
        written=written,
    )


def _parts(manifest: Manifest) -> frozenset[str]:
    """The patches that the skill consists of: applied, or part of the base."""
    return frozenset((*manifest.applied, *manifest.archived))


def _manifest(held: Manifest, target: _Target) -> Manifest:
    """The manifest that applies what `target` says; the order stays where it can."""
    known = tuple(dict.fromkeys((*held.active, *held.archived)))
    known = tuple(name for name in known if name not in target.archived)
    others = tuple(name for name in known if name not in target.applied)
    in_order = tuple(name for name in known if name in target.applied) == target.applied
    disabled = [name for name in held.disabled if name not in target.applied]
    disabled += [name for name in others if name not in held.disabled]
    lists = {
        "active": known if in_order else (*target.applied, *others),
        "disabled": tuple(disabled),
        "archived": target.archived,
    }
    return held.model_copy(update=lists)


def _revived(source: SkillSource) -> tuple[SkillSource, tuple[Patch, ...]]:
    """The source with the patches active that a squash had archived, and those."""
    patches = tuple(
        patch.model_copy(update={"status": PatchStatus.ACTIVE})
        if patch.status is PatchStatus.ARCHIVED
        else patch
        for patch in source.patches
    )
    revived = tuple(new for new, old in zip(patches, source.patches, strict=True) if new is not old)
    return dataclasses.replace(source, patches=patches), revived


def _compiled(
    bank: SkillBank, source: SkillSource, target: _Target, *, changed: frozenset[str]
) -> CompiledSkill:
    """The skill as it will be; refuses what other skills could not stand."""
    everywhere = functools.cache(lambda: bank.active_in({source.ref.name: source}))
    compiled = compile_source(bank, source, extra=(), everywhere=everywhere)
    if target.text is not None and compiled.text != target.text:
        raise SkillBankError(
            f"{source.ref.name} cannot be brought back: what that version was made from gives other bytes "
            f"today, {compiled.sha256[:12]}. Its patch files were changed since; restore them from git."
        )
    for ref in bank.skills():
        other = source if ref == source.ref else bank.source(ref.name)
        named = {name for patch in other.patches for name in (*patch.depends_on, *patch.conflicts_with)}
        if ref != source.ref and named & changed:
            check_patches(other, other.patches, everywhere)
    return compiled


def _current(bank: SkillBank, ref: SkillRef) -> CompiledSkill | None:
    """The skill as it is now; None where it does not compile, which going back may well mend."""
    try:
        return compile_skill(bank, ref.name)
    except (SkillBankError, PatchError):
        return None


def _bank_writes(
    bank: SkillBank, ref: SkillRef, target: _Target, manifest: Manifest, revived: tuple[Patch, ...]
) -> list[Write]:
    """The base that is replaced is kept; then patch files, base and manifest."""
    base, file = bank.relative(ref, "base.md"), bank.relative(ref, "manifest.yaml")
    lists = {"active": manifest.active, "disabled": manifest.disabled, "archived": manifest.archived}
    text = with_lists(bank.read(file), lists, origin=f"{bank.path.name}/{file}")
    texts = {bank.relative(ref, f"patches/{patch.id}.md"): render_patch(patch) for patch in revived}
    texts |= {base: target.base, file: text}
    found = [needed(bank.path, "bank", path, content) for path, content in texts.items()]
    return [*keep_base(bank, ref, bank.read(base)), *(write for write in found if write is not None)]


def _record(report: RollbackReport, asked: Rollback) -> RollbackRecord:
    return RollbackRecord(
        at=asked.at,
        skill=report.skill,
        before=None if report.before is None else report.before.sha256,
        after=report.after.sha256,
        removed=report.removed,
        restored=report.restored,
        by=asked.decider,
        reason=reason_given(asked.reason),
        round=asked.round,
    )
