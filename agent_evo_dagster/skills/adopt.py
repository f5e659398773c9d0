"""Adoption: approved patches enter the bank and its compiled skills, once each, all or nothing."""

import contextlib
import functools
from collections.abc import Callable, Sequence

from agent_evo_dagster.analysis.deciding import command
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import locked
from agent_evo_dagster.patches.document import parse_patch, render_patch
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_source
from agent_evo_dagster.skills.journal import LOCK, Write, commit, needed, roll_forward
from agent_evo_dagster.skills.manifest import with_active
from agent_evo_dagster.skills.rules import COMPILED
from agent_evo_dagster.skills.types import AdoptionReport, CompiledSkill, SkillSource
from agent_evo_dagster.skills.writing import output_writes

# A patch file with one of these was adopted before: doing so again must not bring back what was taken out.
_ADOPTED = (PatchStatus.ACTIVE, PatchStatus.DEPRECATED, PatchStatus.ARCHIVED)


def adopt(
    bank: SkillBank, patches: Sequence[Patch], *, confirm: Callable[[], object] = bool
) -> AdoptionReport:
    """Bring approved `patches` into the bank, in their order, and compile the skills that they touch.

    Files, manifests, compiled outputs and kept copies change together or not at all, even across a kill. A
    patch that was adopted before is left as it is. `confirm` is asked last, with the bank held: what may end
    an approval holds the bank, too.

    Raises:
        ChangedSectionError: a patch was made against another text of its section.
        SkillBankError: a patch is not approved, or the rules of the bank refuse it.
        PatchError: a patch is not well formed.
    """
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        already, fresh = _sorted_out(bank, patches)
        touched = list(dict.fromkeys(patch.skill for patch in patches))
        sources = {name: bank.source(name) for name in touched}
        before = _before(bank, sources, [patch.skill for patch in fresh])
        for patch in fresh:
            sources[patch.skill] = _with_patch(sources[patch.skill], patch)
        compiled = _compiled(bank, sources, touched)
        writes = [*_bank_writes(bank, sources, fresh), *output_writes(bank, compiled, before=before)]
        confirm()
        written = commit(bank.path, writes)
    return AdoptionReport(tuple(patch.id for patch in fresh), already, written, compiled)


def _sorted_out(bank: SkillBank, patches: Sequence[Patch]) -> tuple[tuple[str, ...], list[Patch]]:
    """Ids that were adopted before, and the patches that are new; refuses what may not enter."""
    already: list[str] = []
    fresh: dict[str, Patch] = {}
    for patch in patches:
        checked = parse_patch(render_patch(patch), origin=f"patch {patch.id}")
        ref = bank.ref(checked.skill)
        held = bank.patch(ref, checked.id)
        manifest = bank.manifest(ref)
        listed = checked.id in manifest.active or checked.id in manifest.disabled
        if held is not None and (held.status in _ADOPTED or listed):
            already.append(held.id)
            continue
        if checked.status not in COMPILED or (held is not None and held.status is PatchStatus.REJECTED):
            status = checked.status if held is None else held.status
            raise SkillBankError(
                f"patch {checked.id} for {checked.skill!r} has status {status.value!r}; only approved ones "
                f"are adopted. Decide first: {command('approve', checked.id)}"
            )
        bank.require_target(ref.name, f"patch {checked.id}")
        fresh.setdefault(checked.id, checked.model_copy(update={"status": PatchStatus.ACTIVE}))
    return tuple(already), list(fresh.values())


def _with_patch(source: SkillSource, patch: Patch) -> SkillSource:
    """The source with one more active patch at the end."""
    manifest = source.manifest.model_copy(update={"active": (*source.manifest.active, patch.id)})
    return SkillSource(source.ref, source.document, manifest, (*source.patches, patch), source.origin)


def _before(bank: SkillBank, sources: dict[str, SkillSource], names: Sequence[str]) -> list[CompiledSkill]:
    """The skills `names` as they are until now, to be kept as versions that one can go back to."""
    found: list[CompiledSkill] = []
    for name in dict.fromkeys(names):
        # One that waits for a patch adopted now has no version before it: only what compiles is a version.
        with contextlib.suppress(SkillBankError):
            found += _compiled(bank, sources, [name])
    return found


def _compiled(
    bank: SkillBank, sources: dict[str, SkillSource], touched: Sequence[str]
) -> tuple[CompiledSkill, ...]:
    """The touched skills as they will be."""
    everywhere = functools.cache(lambda: bank.active_in(sources))
    return tuple(compile_source(bank, sources[name], extra=(), everywhere=everywhere) for name in touched)


def _bank_writes(bank: SkillBank, sources: dict[str, SkillSource], fresh: Sequence[Patch]) -> list[Write]:
    """Patch files first, then manifests: a reader in between never meets a listed patch without its file."""
    files, manifests = [], []
    for name in dict.fromkeys(patch.skill for patch in fresh):
        source = sources[name]
        added = [patch for patch in source.patches if patch.id in {new.id for new in fresh}]
        for patch in added:
            path = bank.relative(source.ref, f"patches/{patch.id}.md")
            files.append(needed(bank.path, "bank", path, render_patch(patch)))
        path = bank.relative(source.ref, "manifest.yaml")
        text = with_active(
            bank.read(path), tuple(patch.id for patch in added), origin=f"{bank.path.name}/{path}"
        )
        manifests.append(needed(bank.path, "bank", path, text))
    return [write for write in (*files, *manifests) if write is not None]
