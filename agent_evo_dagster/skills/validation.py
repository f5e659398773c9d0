"""Everything that is wrong with the skills of a bank, and what is above guidance. Nothing is repaired.

Compiling stops at the first problem; this goes on, so that a person mends a skill in one go.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.agent_skill import STANDARD_FIELDS, head_fields, head_problems, over_lines
from agent_evo_dagster.skills.apply import apply_patches
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_source
from agent_evo_dagster.skills.manifest import Manifest, manifest_problems
from agent_evo_dagster.skills.rules import ActivePatches, patch_problems, status_problems
from agent_evo_dagster.skills.sections import SkillDocument
from agent_evo_dagster.skills.size import size_of
from agent_evo_dagster.skills.types import SkillRef, SkillSource


@dataclass(frozen=True)
class Validation:
    """What was found: messages by skill; skills without any are left out."""

    skills: int
    problems: Mapping[str, tuple[str, ...]]  # it cannot be compiled, or not with one of its profiles
    warnings: Mapping[str, tuple[str, ...]]  # it is compiled, but above guidance


def validate(bank: SkillBank) -> Validation:
    """Check every skill of the bank, with each of its profiles."""
    everywhere = functools.cache(lambda: _readable(bank))
    problems, warnings = {}, {}
    for ref in bank.skills():
        found = tuple(dict.fromkeys(_problems(bank, ref, everywhere)))
        if found:
            problems[ref.name] = found
            continue
        compiled = compile_source(bank, bank.source(ref.name), extra=(), everywhere=everywhere)
        above = (*_foreign(bank, ref), *_literal(bank, ref), *size_of(compiled.text).warnings)
        if above:
            warnings[ref.name] = tuple(f"{ref.output}: {warning}." for warning in above)
    return Validation(len(bank.skills()), problems, warnings)


def _problems(bank: SkillBank, ref: SkillRef, everywhere: ActivePatches) -> Iterator[str]:
    """All problems of one skill; what depends on a part that is broken is left for the next time."""
    sources: list[SkillSource] = []
    for profile in _profiles(bank, ref):
        try:
            sources.append(bank.source(ref.name, profile=profile))
        except AgentEvoError as error:
            yield from _unreadable(bank, ref) or [str(error)]
            return
    document, as_is = sources[0].document, sources[0].manifest.front_matter == "as-is"
    yield from head_problems(document.head, name=ref.name, origin=sources[0].origin, as_is=as_is)
    yield from _protected(document, sources[0])
    for source in sources:
        found = [*status_problems(source), *patch_problems(source, source.patches, everywhere)]
        yield from found or _application(source)
        if not found:
            yield from _compilation(bank, source, everywhere)


def _foreign(bank: SkillBank, ref: SkillRef) -> tuple[str, ...]:
    """The fields of the front matter that not every agent accepts."""
    source = bank.source(ref.name)
    others = sorted(set(head_fields(source.document.head, source.origin)) - STANDARD_FIELDS)
    if not others:
        return ()
    return (f"fields {others} are not of agentskills.io, and strict readers refuse them; use `metadata`",)


def _literal(bank: SkillBank, ref: SkillRef) -> tuple[str, ...]:
    """A description that is compiled over several lines."""
    source = bank.source(ref.name)
    if source.manifest.front_matter != "as-is" or not over_lines(source.document.head):
        return ()
    return (
        "the description is over several lines, which some readers show literally; take "
        "`front_matter: as-is` out of manifest.yaml",
    )


def _profiles(bank: SkillBank, ref: SkillRef) -> list[str | None]:
    """No profile, and every one that the manifest has, if it can be read."""
    try:
        return [None, *bank.manifest(ref).profiles]
    except AgentEvoError:
        return [None]  # reading the source tells what is wrong with the manifest


def _unreadable(bank: SkillBank, ref: SkillRef) -> list[str]:
    """What is wrong with each file of a skill that cannot be read as a whole."""
    manifest = Manifest()
    found = []
    try:
        relative = bank.relative(ref, "manifest.yaml")
        text = bank.read(relative)
        found += manifest_problems(text, origin=f"{bank.path.name}/{relative}")
        manifest = manifest if found else bank.manifest(ref)
    except AgentEvoError as error:
        found.append(str(error))
    listed = dict.fromkeys(name for one in (None, *manifest.profiles) for name in manifest.listed(one))
    try:
        base = bank.read(bank.relative(ref, "base.md"))
        bank.source_of(ref, base, Manifest())
    except AgentEvoError as error:
        return [*found, str(error)]
    for name in listed:
        try:
            bank.source_of(ref, base, Manifest(active=(name,)))
        except AgentEvoError as error:
            found.append(str(error))
    return found


def _protected(document: SkillDocument, source: SkillSource) -> Iterator[str]:
    for name in source.manifest.protected:
        if document.section(name) is None:
            yield f"{source.origin}: manifest.yaml protects section {name!r}, which the base does not have."


def _application(source: SkillSource) -> Iterator[str]:
    """The patches that do not meet the text they were made against, each on top of those that do."""
    good: list[Patch] = []
    for patch in source.patches:
        try:
            apply_patches(source.document, [*good, patch], origin=source.origin)
            good.append(patch)
        except AgentEvoError as error:
            yield str(error)


def _compilation(bank: SkillBank, source: SkillSource, everywhere: ActivePatches) -> Iterator[str]:
    try:
        compile_source(bank, source, extra=(), everywhere=everywhere)
    except AgentEvoError as error:
        yield str(error)


def _readable(bank: SkillBank) -> Mapping[str, Patch]:
    """The active patches of all skills that can be read: another skill's fault is told there."""
    found: dict[str, Patch] = {}
    for ref in bank.skills():
        try:
            source = bank.source(ref.name)
            archived = [bank.patch(ref, name) for name in source.manifest.archived]
        except AgentEvoError:
            continue
        found.update({patch.id: patch for patch in (*source.patches, *archived) if patch is not None})
    return found
