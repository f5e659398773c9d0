"""The vocabulary of skills: references, sources, compiled files and reports. No reading, no rules."""

from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.patches.settings_block import SettingSpec
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.manifest import Manifest
from agent_evo_dagster.skills.sections import SkillDocument


@dataclass(frozen=True)
class SkillRef:
    """One skill that `bank.yaml` names."""

    group: str
    name: str
    output: str  # POSIX path relative to the bank's project folder, as written in bank.yaml


@dataclass(frozen=True)
class SkillSource:
    """Everything in the bank that one compiled skill is made from."""

    ref: SkillRef
    document: SkillDocument
    manifest: Manifest
    patches: tuple[Patch, ...]  # the active ones, in the order of application
    origin: str  # the base file, as errors name it


@dataclass(frozen=True)
class CompiledSkill:
    """The bytes of one SKILL.md, and what a run reads from them."""

    group: str
    name: str
    text: str
    sha256: str
    settings: list[SettingSpec]
    output: Path  # absolute
    base: str  # the base file that it was made from
    applied: tuple[str, ...]  # patch ids, in order
    archived: tuple[str, ...]  # patch ids whose text is part of the base


@dataclass(frozen=True)
class AdoptionReport:
    """What an adoption did; all of it, or nothing."""

    adopted: tuple[str, ...]  # patch ids that are active now and were not before
    already: tuple[str, ...]  # patch ids that an earlier adoption brought in
    written: tuple[Path, ...]  # files that changed
    compiled: tuple[CompiledSkill, ...]  # the skills touched, as they are now
