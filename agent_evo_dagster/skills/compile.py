"""From the bank's sources to the bytes of SKILL.md files, in memory. Writing has a module of its own."""

import functools
from collections.abc import Sequence

from agent_evo_dagster.errors import PatchError, SkillBankError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.patches.settings_block import MARKER, SettingSpec, read_settings
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.agent_skill import compiled_head
from agent_evo_dagster.skills.apply import Patched, apply_patches
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.outputs import contained
from agent_evo_dagster.skills.rules import ActivePatches, check_patches, check_statuses
from agent_evo_dagster.skills.sections import Free, print_document
from agent_evo_dagster.skills.types import CompiledSkill, SkillSource


def compile_skill(
    bank: SkillBank, skill: str, *, extra: Sequence[Patch] = (), profile: str | None = None
) -> CompiledSkill:
    """The compiled form of one skill; `extra` are candidates applied on top, whatever their status.

    Raises:
        UnknownSkillError: the bank has no such skill.
        ChangedSectionError: a patch was made against another text of its section.
        SkillBankError: anything else that the rules of the bank refuse.
    """
    return compile_source(bank, bank.source(skill, profile=profile), extra=extra, everywhere=bank.active)


def compile_all(bank: SkillBank, *, extra: Sequence[Patch] = ()) -> list[CompiledSkill]:
    """The compiled form of every skill, in the order of `bank.yaml`; raises as `compile_skill` does."""
    return compile_many(bank, [ref.name for ref in bank.skills()], extra=extra)


def compile_many(
    bank: SkillBank, names: Sequence[str], *, extra: Sequence[Patch] = (), profile: str | None = None
) -> list[CompiledSkill]:
    """The compiled forms of the skills `names`, in this order; raises as `compile_skill` does.

    Of many skills those that lack `profile` are compiled without it, as long as one has it.
    """
    has_it = {name: profile in bank.manifest(bank.ref(name)).profiles for name in names if profile}
    if len(names) > 1 and profile and not any(has_it.values()):
        raise SkillBankError(f"none of {', '.join(names)} has a profile {profile!r}.")
    chosen = {name: profile if has_it.get(name) or len(names) == 1 else None for name in names}
    sources = {name: bank.source(name, profile=chosen[name]) for name in names}
    everywhere = functools.cache(bank.active if profile else lambda: bank.active_in(sources))
    return [compile_source(bank, source, extra=extra, everywhere=everywhere) for source in sources.values()]


def compile_source(
    bank: SkillBank, source: SkillSource, *, extra: Sequence[Patch], everywhere: ActivePatches
) -> CompiledSkill:
    """Compile what was read of one skill; raises as `compile_skill` does."""
    check_statuses(source)
    patches = with_extra(source, extra)
    check_patches(source, patches, everywhere)
    patched = apply_patches(source.document, patches, origin=source.origin)
    as_is = source.manifest.front_matter == "as-is"
    head = compiled_head(source.document.head, name=source.ref.name, origin=source.origin, as_is=as_is)
    text = head + patched.body()
    return CompiledSkill(
        group=source.ref.group,
        name=source.ref.name,
        text=text,
        sha256=sha256_bytes(text.encode()),
        settings=_settings(source, patched),
        output=contained(bank.project, source.ref.output, outside=bank.path),
        base=print_document(source.document),
        applied=tuple(patch.id for patch in patches),
        archived=source.manifest.archived,
    )


def with_extra(source: SkillSource, extra: Sequence[Patch]) -> list[Patch]:
    """The active patches of a skill, then those of `extra` that are meant for it and are not active yet."""
    patches = list(source.patches)
    known = {patch.id for patch in patches}
    for patch in extra:
        if patch.skill == source.ref.name and patch.id not in known:
            patches.append(patch)
            known.add(patch.id)
    return patches


def _settings(source: SkillSource, patched: Patched) -> list[SettingSpec]:
    """All settings of the skill's sections, each given once; none may stand where no patch could reach it."""
    found: dict[str, SettingSpec] = {}
    outside = [piece.text for piece in source.document.pieces if isinstance(piece, Free)]
    outside += [chunk for chunks in patched.inserted.values() for chunk in chunks]
    try:
        if any(read_settings(text, origin=source.origin) for text in outside if MARKER in text):
            raise SkillBankError(
                f"{source.origin}: a settings block stands outside any section; move it into one."
            )
        for name, text in patched.sections.items():
            for setting in read_settings(text, origin=f"{source.origin}, section {name!r}"):
                if found.setdefault(setting.name, setting) is not setting:
                    raise SkillBankError(
                        f"{source.origin}: setting {setting.name!r} is given in two sections; keep one."
                    )
    except PatchError as error:
        raise SkillBankError(str(error)) from error
    return list(found.values())
