"""The rules that decide whether a skill's patches may be compiled together. Nothing is applied here."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from agent_evo_dagster.analysis.deciding import command
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.patches.powers import powers_of
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.sections import print_document
from agent_evo_dagster.skills.types import SkillSource

COMPILED = (PatchStatus.APPROVED, PatchStatus.ACTIVE)
# All patches that are active anywhere in the bank, by id; called only where another skill matters.
ActivePatches = Callable[[], Mapping[str, Patch]]


def check_patches(source: SkillSource, patches: Sequence[Patch], everywhere: ActivePatches) -> None:
    """Refuse a list of patches that cannot hold together.

    Raises:
        SkillBankError: the first of `patch_problems`.
    """
    for problem in patch_problems(source, patches, everywhere):
        raise SkillBankError(problem)


def status_problems(source: SkillSource) -> Iterator[str]:
    """The listed patches that nobody approved: only what was approved is compiled."""
    for patch in source.patches:
        if patch.status not in COMPILED:
            yield (
                f"{source.origin}: patch {patch.id} is active in the list, but {patch.status.value!r}; "
                f"only approved ones are compiled. Approve it ({command('approve', patch.id)}) "
                f"or take it out of manifest.yaml."
            )


def check_statuses(source: SkillSource) -> None:
    """Only what was approved is compiled.

    Raises:
        SkillBankError: a patch of any other status is in the active list.
    """
    for problem in status_problems(source):
        raise SkillBankError(problem)


def patch_problems(source: SkillSource, patches: Sequence[Patch], everywhere: ActivePatches) -> Iterator[str]:
    """Everything that keeps `patches` from being compiled together, naming patch, section and file."""
    for position, patch in enumerate(patches):
        where = f"{source.origin}: patch {patch.id} (section {patch.target_section!r})"
        before = patches[:position]
        yield from _place(source, patch, where)
        yield from _supersedes(patch, before, patches, where)
        yield from _conflicts(patch, patches, everywhere, where)
        yield from _dependencies(patch, before, patches, everywhere, where)
    yield from _powers(source, patches)


def _place(source: SkillSource, patch: Patch, where: str) -> Iterator[str]:
    """A patch stays in its skill, and in sections that exist and are not protected."""
    if (patch.group, patch.skill) != (source.ref.group, source.ref.name):
        yield f"{where} is for {patch.group}/{patch.skill}, not for this skill; move its file."
    if source.document.section(patch.target_section) is None:
        names = ", ".join(section.name for section in source.document.sections()) or "none"
        yield f"{where} targets a section that the base does not have; it has: {names}."
    if patch.target_section in source.manifest.protected:
        yield f"{where} targets a section that manifest.yaml protects; change base.md by hand."


def _supersedes(patch: Patch, before: Sequence[Patch], patches: Sequence[Patch], where: str) -> Iterator[str]:
    """What a patch says to supersede is gone, or is an earlier replace that this replace covers."""
    replaced = {
        other.id
        for other in before
        if patch.action == other.action == "replace" and other.target_section == patch.target_section
    }
    for other in patches:
        if other.id in patch.supersedes and other.id not in replaced:
            yield (
                f"{where} supersedes patch {other.id}, which stays active and which it does not replace; "
                f"list {other.id} under `disabled` in manifest.yaml."
            )


def _conflicts(
    patch: Patch, patches: Sequence[Patch], everywhere: ActivePatches, where: str
) -> Iterator[str]:
    """Patches that exclude each other are not compiled together."""
    if not patch.conflicts_with:
        return
    active = {**everywhere(), **{other.id: other for other in patches}}
    for name in patch.conflicts_with:
        if name in active:
            yield (
                f"{where} conflicts with patch {name} of skill {active[name].skill!r}, which is active, too; "
                f"disable one of them in its manifest.yaml."
            )


def _dependencies(
    patch: Patch, before: Sequence[Patch], patches: Sequence[Patch], everywhere: ActivePatches, where: str
) -> Iterator[str]:
    """What a patch depends on is active, comes first, and does not depend on the patch."""
    if not patch.depends_on:
        return
    own = {other.id: other for other in patches}
    earlier = {other.id for other in before}
    if set(patch.depends_on) <= earlier and all(not own[name].depends_on for name in patch.depends_on):
        return
    active = {**everywhere(), **own}
    cycle = _cycle(patch, active)
    if cycle:
        yield f"{where} depends on itself: {' -> '.join(cycle)}. Break the cycle in one of them."
        return
    for name in patch.depends_on:
        if name not in active:
            yield (
                f"{where} depends on patch {name}, which is not active in any skill of this bank; "
                f"activate it first or disable this patch."
            )
        elif name in own and name not in earlier:
            yield f"{where} depends on patch {name}, which comes later; list {name} first in `active`."


def _powers(source: SkillSource, patches: Sequence[Patch]) -> Iterator[str]:
    """A patch brings in no link and no command that neither the base has nor the manifest allows."""
    asked = [(patch, found) for patch in patches if (found := powers_of(patch.body))]
    if not asked:
        return
    known = powers_of(print_document(source.document))
    for patch, found in asked:
        for power in sorted(found - known):
            if power.kind not in source.manifest.allow:
                yield (
                    f"{source.origin}: patch {patch.id} (section {patch.target_section!r}) brings in "
                    f"{power.kind}: {visible(power.text)!r}, which the base does not have. If patches of "
                    f"this skill may do so, write `allow: [{power.kind}]` in manifest.yaml; else reject it."
                )
        known |= found


def _cycle(patch: Patch, active: Mapping[str, Patch]) -> list[str]:
    """A path of dependencies from `patch` back to itself; empty where there is none."""
    paths = [[patch.id]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for name in active[path[-1]].depends_on if path[-1] in active else ():
            if name == patch.id:
                return [*path, name]
            if name not in seen:
                seen.add(name)
                paths.append([*path, name])
    return []
