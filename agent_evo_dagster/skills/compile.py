"""From the bank's sources to the bytes of SKILL.md files. Adoption of patches has a module of its own."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_evo_dagster.errors import AgentEvoError, PatchError, SkillBankError
from agent_evo_dagster.files import locked, sha256_bytes
from agent_evo_dagster.patches.settings_block import MARKER, SettingSpec, read_settings
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.agent_skill import compiled_head
from agent_evo_dagster.skills.apply import Patched, apply_patches
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.journal import LOCK, Write, commit, needed, roll_forward
from agent_evo_dagster.skills.outputs import contained
from agent_evo_dagster.skills.rules import ActivePatches, check_patches, check_statuses
from agent_evo_dagster.skills.sections import Free, print_document
from agent_evo_dagster.skills.types import CompiledSkill, SkillSource
from agent_evo_dagster.skills.versions import version_writes


def compile_skill(bank: SkillBank, skill: str, *, extra: Sequence[Patch] = ()) -> CompiledSkill:
    """The compiled form of one skill; `extra` are candidates applied on top, whatever their status.

    Raises:
        UnknownSkillError: the bank has no such skill.
        ChangedSectionError: a patch was made against another text of its section.
        SkillBankError: anything else that the rules of the bank refuse.
    """
    return compile_source(bank, bank.source(skill), extra=extra, everywhere=bank.active)


def compile_all(bank: SkillBank, *, extra: Sequence[Patch] = ()) -> list[CompiledSkill]:
    """The compiled form of every skill, in the order of `bank.yaml`; raises as `compile_skill` does."""
    sources = {ref.name: bank.source(ref.name) for ref in bank.skills()}
    everywhere = functools.cache(lambda: bank.active_in(sources))
    return [compile_source(bank, source, extra=extra, everywhere=everywhere) for source in sources.values()]


def compile_source(
    bank: SkillBank, source: SkillSource, *, extra: Sequence[Patch], everywhere: ActivePatches
) -> CompiledSkill:
    """Compile what was read of one skill; raises as `compile_skill` does."""
    check_statuses(source)
    patches = with_extra(source, extra)
    check_patches(source, patches, everywhere)
    patched = apply_patches(source.document, patches, origin=source.origin)
    head = compiled_head(source.document.head, name=source.ref.name, origin=source.origin)
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


@dataclass(frozen=True)
class WriteReport:
    """What a compilation wrote."""

    written: tuple[Path, ...]
    compiled: tuple[CompiledSkill, ...]


def output_writes(
    bank: SkillBank, compiled: Sequence[CompiledSkill], *, before: Sequence[CompiledSkill] = ()
) -> list[Write]:
    """The writes that bring outputs and kept versions up to date; `before` are kept as versions, too."""
    outputs = [needed(bank.path, "project", bank.ref(skill.name).output, skill.text) for skill in compiled]
    return [*version_writes(bank, [*before, *compiled]), *(write for write in outputs if write is not None)]


def write_skills(bank: SkillBank, names: Sequence[str]) -> WriteReport:
    """Compile the skills `names` and write what changed: all of them, or nothing.

    Raises:
        SkillBankError: one of them cannot be compiled, or its SKILL.md was edited by hand.
    """
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        compiled = tuple(compile_skill(bank, name) for name in names)
        for skill in compiled:
            refuse_edited(bank, skill)
        return WriteReport(commit(bank.path, output_writes(bank, compiled)), compiled)


def refuse_edited(bank: SkillBank, skill: CompiledSkill) -> None:
    """What a person wrote into a compiled file is not lost.

    Raises:
        SkillBankError: the file holds what no compilation of this bank wrote.
    """
    if _state(bank, skill) == "edited":
        raise SkillBankError(
            f"{skill.output} is not what this bank wrote: it was edited by hand, or made by another. See "
            f"agent-evo skills diff {skill.name}; move the edit into {skill.group}/{skill.name}/base.md, "
            f"delete the file, and compile again."
        )


def validate(bank: SkillBank) -> list[str]:
    """Everything that keeps a skill of the bank from being compiled, one message a skill."""
    problems = []
    for ref in bank.skills():
        try:
            compile_skill(bank, ref.name)
        except AgentEvoError as error:
            problems.append(str(error))
    return problems


@dataclass(frozen=True)
class SkillState:
    """How the SKILL.md on disk compares with the bank."""

    group: str
    name: str
    state: Literal["current", "stale", "edited", "missing", "invalid"]
    patches: int  # active ones
    output: str
    problem: str  # why it is invalid; else empty


def states(bank: SkillBank) -> list[SkillState]:
    """The state of every skill: `edited` by hand is what no compilation of this bank wrote."""
    found = []
    for ref in bank.skills():
        try:
            compiled = compile_skill(bank, ref.name)
            count = len(bank.manifest(ref).applied)
            found.append(SkillState(ref.group, ref.name, _state(bank, compiled), count, ref.output, ""))
        except AgentEvoError as error:
            found.append(SkillState(ref.group, ref.name, "invalid", 0, ref.output, str(error)))
    return found


def _state(bank: SkillBank, compiled: CompiledSkill) -> Literal["current", "stale", "edited", "missing"]:
    """The state of one compiled skill's output."""
    if not compiled.output.is_file():
        return "missing"
    held = sha256_bytes(compiled.output.read_bytes())
    if held == compiled.sha256:
        return "current"
    copies = bank.path / "compiled" / compiled.group / compiled.name
    return "stale" if (copies / f"{held}.md").is_file() else "edited"
