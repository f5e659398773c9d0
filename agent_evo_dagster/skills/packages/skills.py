"""What a package of skills holds: a bank's sources and the SKILL.md files made from them. No registry."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.packages.frozen import read_package
from agent_evo_dagster.skills.types import CompiledSkill

BANK = "bank"  # its folder within the package


class SkillsAbout(BaseModel):
    """What `package.json` says of a package of skills, under `about`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    domain: str | None
    parent: str | None
    base: str | None = None  # vertical: the stable package that evidence was read against
    profile: str | None
    bank_hash: str
    skills: dict[str, str]  # SHA-256 of each SKILL.md
    patches: tuple[str, ...]


@dataclass(frozen=True)
class FrozenSkills:
    """The bytes of a bank and its compiled skills, as they go into a package."""

    bank_hash: str
    compiled: tuple[CompiledSkill, ...]
    files: Mapping[str, bytes]

    @property
    def patches(self) -> tuple[str, ...]:
        """All patches that the skills consist of."""
        return tuple(name for skill in self.compiled for name in (*skill.archived, *skill.applied))

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each SKILL.md, by the name of its skill."""
        return {skill.name: skill.sha256 for skill in self.compiled}


def frozen_skills(bank: SkillBank, *, profile: str | None = None) -> FrozenSkills:
    """Every skill of `bank`, compiled, and every file that it is made from.

    Raises:
        SkillBankError: one does not compile, or none has the profile.
    """
    sources = bank.content()
    compiled = tuple(compile_many(bank, [ref.name for ref in bank.skills()], profile=profile))
    if bank.content() != sources:
        raise SkillBankError(f"{bank.path} was changed while it was read; run this again.")
    files = {f"{BANK}/{name}": data for name, data in sources.items()}
    files |= {compiled_file(skill): skill.text.encode() for skill in compiled}
    return FrozenSkills(bank.content_hash(), compiled, files)


def compiled_file(skill: CompiledSkill) -> str:
    """Where a package keeps the SKILL.md of a skill."""
    return f"skills/{skill.group}/{skill.name}/SKILL.md"


def about_skills(path: Path) -> SkillsAbout:
    """What the package at `path` says of its skills.

    Raises:
        SkillBankError: it is not a package of skills.
    """
    try:
        return SkillsAbout.model_validate(read_package(path).about)
    except ValidationError as error:
        raise SkillBankError(f"{path} is not a package of skills: {error.errors()[0]['msg']}.") from error


def bank_in(path: Path) -> SkillBank:
    """The bank that a package holds."""
    return SkillBank.open(path / BANK)


def bank_profile(about: Mapping[str, JsonValue]) -> str | None:
    """The profile that the skills of a package were compiled with."""
    profile = about.get("profile")
    return profile if isinstance(profile, str) else None


def compile_problems(path: Path) -> list[str]:
    """Skills of a package that its own sources do not compile to; empty where all of them do."""
    bank, about = bank_in(path), read_package(path).about
    compiled = compile_many(bank, [ref.name for ref in bank.skills()], profile=bank_profile(about))
    problems = []
    for skill in compiled:
        held = path / compiled_file(skill)
        if not held.is_file() or sha256_bytes(held.read_bytes()) != skill.sha256:
            problems.append(f"{compiled_file(skill)} is not what its sources compile to with this version")
    return problems
