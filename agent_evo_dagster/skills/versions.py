"""The kept versions of compiled skills: their bytes, and what each was made from. Going back is not here.

`compiled/<group>/<skill>/<sha256>.md` holds the bytes, `base/<sha256>.md` the base files, and
`versions/<number>-<sha256>.json` what a version was made from. Nothing of it is ever changed or removed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.journal import Write, needed
from agent_evo_dagster.skills.types import CompiledSkill, SkillRef

_FILE = re.compile(r"(?P<number>[0-9]{4,9})-(?P<sha256>[0-9a-f]{64})\.json")
_NUMBER = re.compile(r"v?(?P<number>[0-9]{1,6})")
_HASH = re.compile(r"[0-9a-f]{7,64}")


class Recipe(BaseModel):
    """What a compiled version was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    base: str  # SHA-256 of base.md
    applied: tuple[str, ...]  # patch ids, in order
    archived: tuple[str, ...] = ()  # patch ids whose text is part of the base


@dataclass(frozen=True)
class Version:
    """One kept version of a skill; numbers count from 1 in the order in which versions were first made."""

    number: int
    sha256: str
    recipe: Recipe


def recipe_of(skill: CompiledSkill) -> Recipe:
    """What a compiled skill was made from."""
    return Recipe(base=sha256_bytes(skill.base.encode()), applied=skill.applied, archived=skill.archived)


def kept_copy(skill: CompiledSkill) -> str:
    """The content-addressed copy of a compiled skill, relative to the bank."""
    return kept_copy_of(skill, skill.sha256)


def kept_copy_of(skill: CompiledSkill, sha256: str) -> str:
    """The copy of a version of the skill by its hash, relative to the bank."""
    return _place(skill, f"{sha256}.md")


def version_writes(bank: SkillBank, skills: Sequence[CompiledSkill]) -> list[Write]:
    """The writes that keep compiled skills as versions, in this order; none for those that are kept."""
    writes: dict[str, Write] = {}
    fresh: dict[str, list[tuple[str, Recipe]]] = {}
    for skill in skills:
        recipe = recipe_of(skill)
        added = fresh.setdefault(skill.name, [])
        texts = {kept_copy(skill): skill.text, _place(skill, f"base/{recipe.base}.md"): skill.base}
        if number_of(bank, skill) is None and (skill.sha256, recipe) not in added:
            added.append((skill.sha256, recipe))
            number = max((number for number, _, _ in _files(bank, skill)), default=0) + len(added)
            name = _place(skill, f"versions/{number:04d}-{skill.sha256}.json")
            texts[name] = recipe.model_dump_json(indent=1) + "\n"
        found = {path: needed(bank.path, "bank", path, text) for path, text in texts.items()}
        writes.update({path: write for path, write in found.items() if write is not None})
    return list(writes.values())


def versions(bank: SkillBank, ref: SkillRef) -> list[Version]:
    """All kept versions of a skill, the oldest first."""
    return [Version(number, sha256, _recipe(bank, ref, name)) for number, sha256, name in _files(bank, ref)]


def number_of(bank: SkillBank, skill: CompiledSkill) -> int | None:
    """The number of the version that a compiled skill is; None where it is not kept."""
    recipe = recipe_of(skill)
    for number, sha256, name in reversed(_files(bank, skill)):
        if sha256 == skill.sha256 and _recipe(bank, skill, name) == recipe:
            return number
    return None


def find_version(bank: SkillBank, ref: SkillRef, wanted: str) -> Version:
    """The version that `wanted` names: its number, or the beginning of its hash.

    Raises:
        SkillBankError: none or several versions are called so.
    """
    known = versions(bank, ref)
    by_number, by_hash = _NUMBER.fullmatch(wanted), _HASH.fullmatch(wanted)
    found = [version for version in known if by_number and version.number == int(by_number["number"])]
    if not found and by_hash:
        found = [version for version in known if version.sha256.startswith(wanted)]
    if len({version.sha256 for version in found}) == 1:
        return found[-1]
    listed = ", ".join(f"{version.number} ({version.sha256[:12]})" for version in known[-8:]) or "none yet"
    raise SkillBankError(
        f"{len(found) or 'no'} versions of {ref.name} are called {wanted!r}; give the number or at least 7 "
        f"digits of the hash of one of: {listed}. All of them: agent-evo skills versions {ref.name}."
    )


def version_text(bank: SkillBank, ref: SkillRef, version: Version) -> str:
    """The bytes of a version, as text.

    Raises:
        SkillBankError: they are gone or were changed.
    """
    return _kept(bank, _place(ref, f"{version.sha256}.md"), version.sha256)


def version_base(bank: SkillBank, ref: SkillRef, version: Version) -> str:
    """The base file that a version was made from.

    Raises:
        SkillBankError: it is gone or was changed.
    """
    return _kept(bank, _place(ref, f"base/{version.recipe.base}.md"), version.recipe.base)


def keep_base(bank: SkillBank, ref: SkillRef, base: str) -> list[Write]:
    """The write that keeps a base file by its hash."""
    name = _place(ref, f"base/{sha256_bytes(base.encode())}.md")
    write = needed(bank.path, "bank", name, base)
    return [] if write is None else [write]


def _kept(bank: SkillBank, name: str, sha256: str) -> str:
    text = bank.read(name)
    if sha256_bytes(text.encode()) != sha256:
        raise SkillBankError(f"{bank.path / name} was changed since it was kept; restore it from a backup.")
    return text


def _recipe(bank: SkillBank, skill: SkillRef | CompiledSkill, name: str) -> Recipe:
    relative = _place(skill, f"versions/{name}")
    try:
        return Recipe.model_validate_json(bank.read(relative))
    except ValidationError as error:
        raise SkillBankError(
            f"{bank.path / relative} cannot be read: {error.errors()[0]['msg']}; restore it from a backup."
        ) from error


def _files(bank: SkillBank, skill: SkillRef | CompiledSkill) -> Sequence[tuple[int, str, str]]:
    """Number, hash and file name of every kept version, by number."""
    folder = bank.path / _place(skill, "versions")
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    found = [match for name in names if (match := _FILE.fullmatch(name))]
    return sorted((int(match["number"]), match["sha256"], match.string) for match in found)


def _place(skill: SkillRef | CompiledSkill, name: str) -> str:
    return f"compiled/{skill.group}/{skill.name}/{name}"
