"""Squashing: the active patches of a skill become part of its base, and the compiled bytes stay the same.

Sections and their markers stay, so that later patches find them. The patch files stay, too, as archived, and
the version before can be gone back to.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_evo_dagster.errors import AgentEvoError, SkillBankError
from agent_evo_dagster.files import locked
from agent_evo_dagster.patches.application import joined
from agent_evo_dagster.patches.document import render_patch
from agent_evo_dagster.patches.types import PatchStatus
from agent_evo_dagster.skills.apply import Patched, apply_patches
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_source
from agent_evo_dagster.skills.journal import LOCK, Write, commit, needed, roll_forward
from agent_evo_dagster.skills.manifest import Manifest, with_lists
from agent_evo_dagster.skills.sections import Free, Section, SkillDocument, print_document
from agent_evo_dagster.skills.types import CompiledSkill, SkillRef, SkillSource
from agent_evo_dagster.skills.versions import version_writes


@dataclass(frozen=True)
class Squashed:
    """What squashing did, or would do, to one skill."""

    before: CompiledSkill
    after: CompiledSkill  # the same bytes, made from another base and without patches

    @property
    def archived(self) -> tuple[str, ...]:
        """The patches that are part of the base now and were not before."""
        return self.before.applied


@dataclass(frozen=True)
class SquashReport:
    """What squashing did, or would do; skills without active patches are left as they are."""

    squashed: tuple[Squashed, ...]
    written: tuple[Path, ...]


def squash(bank: SkillBank, names: Sequence[str], *, dry_run: bool = False) -> SquashReport:
    """Make the active patches of the skills `names` part of their bases: all of them, or nothing.

    Raises:
        SkillBankError: a skill does not compile, or a profile of it would compile to other bytes.
    """
    if dry_run:
        return SquashReport(tuple(_squashed(bank, name) for name in _patched(bank, names)), ())
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        done = tuple(_squashed(bank, name) for name in _patched(bank, names))
        writes = version_writes(bank, [skill for item in done for skill in (item.before, item.after)])
        for item in done:
            writes += _bank_writes(bank, item)
        return SquashReport(done, commit(bank.path, writes))


def _patched(bank: SkillBank, names: Sequence[str]) -> list[str]:
    """Those of the skills that have active patches."""
    return [name for name in names if bank.manifest(bank.ref(name)).applied]


def _squashed(bank: SkillBank, name: str) -> Squashed:
    """The skill before and after, proved to be the same bytes with and without every profile."""
    old = bank.source(name)
    everywhere = functools.cache(bank.active)
    before = compile_source(bank, old, extra=(), everywhere=everywhere)
    patched = apply_patches(old.document, old.patches, origin=old.origin)
    base, manifest = print_document(squashed_document(patched)), _manifest(old.manifest)
    new = bank.source_of(old.ref, base, manifest)
    after = compile_source(bank, new, extra=(), everywhere=everywhere)
    if after.text != before.text:
        raise SkillBankError(
            f"{old.origin}: squashed, it would compile to other bytes; nothing was changed. This is a fault "
            f"of the squash: please report it with base.md, manifest.yaml and the patches."
        )
    for profile in manifest.profiles:
        _check_profile(bank, old, new, profile)
    return Squashed(before, after)


def _check_profile(bank: SkillBank, old: SkillSource, new: SkillSource, profile: str) -> None:
    """A profile that leaves out what becomes part of the base can no longer do so."""
    everywhere = functools.cache(bank.active)
    base, ref = print_document(new.document), old.ref
    try:
        before = compile_source(bank, bank.source(ref.name, profile=profile), extra=(), everywhere=everywhere)
        source = bank.source_of(ref, base, new.manifest, profile=profile)
        same = compile_source(bank, source, extra=(), everywhere=everywhere).text == before.text
    except AgentEvoError:
        same = False
    if not same:
        raise SkillBankError(
            f"{ref.name} cannot be squashed: its profile {profile!r} would compile to other bytes, for it "
            f"lists other patches. Take the profile out of manifest.yaml, or keep the patches apart."
        )


def _manifest(held: Manifest) -> Manifest:
    """The manifest with what was applied as archived."""
    applied = held.applied
    return held.model_copy(
        update={
            "active": tuple(name for name in held.active if name not in applied),
            "archived": (*held.archived, *applied),
        }
    )


def squashed_document(patched: Patched) -> SkillDocument:
    """The document whose sections are as patched, with what was inserted after them as free text."""
    pieces: list[Free | Section] = []
    out, seam = "", False
    for piece in patched.document.pieces:
        text = piece.text if isinstance(piece, Free) else patched.sections[piece.name]
        grown = joined(out, text) if seam else out + text
        gap = grown[len(out) : len(grown) - len(text)]
        pieces += [Free(gap)] if gap else []
        pieces.append(Free(text) if isinstance(piece, Free) else replace(piece, text=text))
        out = grown
        chunks = () if isinstance(piece, Free) else patched.inserted.get(piece.name, ())
        for chunk in chunks:
            grown = joined(out, chunk)
            pieces.append(Free(grown[len(out) :]))
            out = grown
        seam = bool(chunks)
    return SkillDocument(patched.document.head, tuple(pieces))


def _bank_writes(bank: SkillBank, item: Squashed) -> list[Write]:
    """The patch files as archived, then base and manifest."""
    ref: SkillRef = bank.ref(item.after.name)
    texts = {}
    for patch in bank.source(ref.name).patches:
        archived = patch.model_copy(update={"status": PatchStatus.ARCHIVED})
        texts[bank.relative(ref, f"patches/{patch.id}.md")] = render_patch(archived)
    file = bank.relative(ref, "manifest.yaml")
    manifest = _manifest(bank.manifest(ref))
    lists = {"active": manifest.active, "archived": manifest.archived}
    texts[bank.relative(ref, "base.md")] = item.after.base
    texts[file] = with_lists(bank.read(file), lists, origin=f"{bank.path.name}/{file}")
    found = [needed(bank.path, "bank", path, text) for path, text in texts.items()]
    return [write for write in found if write is not None]
