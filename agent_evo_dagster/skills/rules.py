"""The rules that decide whether a skill's patches may be compiled together. Nothing is applied here."""

from collections.abc import Callable, Mapping, Sequence

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.types import Patch, PatchStatus
from agent_evo_dagster.skills.types import SkillSource

COMPILED = (PatchStatus.APPROVED, PatchStatus.ACTIVE)
# All patches that are active anywhere in the bank, by id; called only where another skill matters.
ActivePatches = Callable[[], Mapping[str, Patch]]


def check_statuses(source: SkillSource) -> None:
    """Only what was approved is compiled.

    Raises:
        SkillBankError: a patch of any other status is in the active list.
    """
    for patch in source.patches:
        if patch.status not in COMPILED:
            raise SkillBankError(
                f"{source.origin}: patch {patch.id} is active in the list, but {patch.status.value!r}; "
                f"only approved ones are compiled. Approve it (agent-evo patches approve {patch.id}) "
                f"or take it out of manifest.yaml."
            )


def check_patches(source: SkillSource, patches: Sequence[Patch], everywhere: ActivePatches) -> None:
    """Refuse a list of patches that cannot hold together.

    Raises:
        SkillBankError: naming the patches, the section and the file.
    """
    for position, patch in enumerate(patches):
        where = f"{source.origin}: patch {patch.id} (section {patch.target_section!r})"
        before = patches[:position]
        _check_place(source, patch, where)
        _check_supersedes(patch, before, patches, where)
        _check_conflicts(patch, patches, everywhere, where)
        _check_dependencies(patch, before, patches, everywhere, where)


def _check_place(source: SkillSource, patch: Patch, where: str) -> None:
    """A patch stays in its skill, and in sections that exist and are not protected."""
    if (patch.group, patch.skill) != (source.ref.group, source.ref.name):
        raise SkillBankError(
            f"{where} is for {patch.group}/{patch.skill}, not for this skill; move its file."
        )
    if source.document.section(patch.target_section) is None:
        names = ", ".join(section.name for section in source.document.sections()) or "none"
        raise SkillBankError(f"{where} targets a section that the base does not have; it has: {names}.")
    if patch.target_section in source.manifest.protected:
        raise SkillBankError(
            f"{where} targets a section that manifest.yaml protects; change base.md by hand."
        )


def _check_supersedes(patch: Patch, before: Sequence[Patch], patches: Sequence[Patch], where: str) -> None:
    """What a patch says to supersede is gone, or is an earlier replace that this replace covers."""
    replaced = {
        other.id
        for other in before
        if patch.action == other.action == "replace" and other.target_section == patch.target_section
    }
    for other in patches:
        if other.id in patch.supersedes and other.id not in replaced:
            raise SkillBankError(
                f"{where} supersedes patch {other.id}, which stays active and which it does not replace; "
                f"list {other.id} under `disabled` in manifest.yaml."
            )


def _check_conflicts(patch: Patch, patches: Sequence[Patch], everywhere: ActivePatches, where: str) -> None:
    """Patches that exclude each other are not compiled together."""
    if not patch.conflicts_with:
        return
    active = {**everywhere(), **{other.id: other for other in patches}}
    for name in patch.conflicts_with:
        if name in active:
            raise SkillBankError(
                f"{where} conflicts with patch {name} of skill {active[name].skill!r}, which is active, too; "
                f"disable one of them in its manifest.yaml."
            )


def _check_dependencies(
    patch: Patch, before: Sequence[Patch], patches: Sequence[Patch], everywhere: ActivePatches, where: str
) -> None:
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
        raise SkillBankError(
            f"{where} depends on itself: {' -> '.join(cycle)}. Break the cycle in one of them."
        )
    for name in patch.depends_on:
        if name not in active:
            raise SkillBankError(
                f"{where} depends on patch {name}, which is not active in any skill of this bank; "
                f"activate it first or disable this patch."
            )
        if name in own and name not in earlier:
            raise SkillBankError(
                f"{where} depends on patch {name}, which comes later; list {name} first in `active`."
            )


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
