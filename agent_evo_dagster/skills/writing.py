"""Compiled skills on disk: outputs and kept versions brought up to date, all of them or none.

When everything was compiled, the hashes of what went in and came out are kept as a stamp. As long as both
are the same there is nothing to do, and nothing is parsed, compiled or written to find that out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import locked, sha256_bytes
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.journal import JOURNAL, LOCK, Write, commit, needed, roll_forward
from agent_evo_dagster.skills.types import CompiledSkill
from agent_evo_dagster.skills.versions import kept_copy_of, version_writes

# Of the way from sources to bytes. Raise it with every change of the bytes: stamps of before are then void.
COMPILER = 2
STAMP = "compiled/stamp.json"

OutputState = Literal["current", "stale", "edited", "missing"]


@dataclass(frozen=True)
class WriteReport:
    """What a compilation wrote."""

    written: tuple[Path, ...]  # but the stamp
    compiled: tuple[CompiledSkill, ...]  # empty where the stamp said that there is nothing to do


class _Stamp(BaseModel):
    """What went into the last compilation of all skills, and what came out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    compiler: int
    inputs: str
    outputs: str


def output_writes(
    bank: SkillBank, compiled: Sequence[CompiledSkill], *, before: Sequence[CompiledSkill] = ()
) -> list[Write]:
    """The writes that bring outputs and kept versions up to date; `before` are kept as versions, too."""
    outputs = [needed(bank.path, "project", bank.ref(skill.name).output, skill.text) for skill in compiled]
    return [*version_writes(bank, [*before, *compiled]), *(write for write in outputs if write is not None)]


def planned_writes(
    bank: SkillBank, names: Sequence[str], *, profile: str | None = None
) -> tuple[tuple[CompiledSkill, ...], list[Write]]:
    """The compiled skills `names`, and the writes that would bring their files up to date.

    Raises:
        SkillBankError: one of them cannot be compiled, or its SKILL.md was edited by hand.
    """
    compiled = tuple(compile_many(bank, names, profile=profile))
    for skill in compiled:
        refuse_edited(bank, skill)
    return compiled, output_writes(bank, compiled)


def write_skills(bank: SkillBank, names: Sequence[str], *, profile: str | None = None) -> WriteReport:
    """Compile the skills `names` and write what changed: all of them, or nothing.

    Raises:
        SkillBankError: one of them cannot be compiled, or its SKILL.md was edited by hand.
    """
    everything = profile is None and list(names) == [ref.name for ref in bank.skills()]
    if everything and _is_stamped(bank):
        return WriteReport((), ())
    with locked(bank.path / LOCK):
        roll_forward(bank.path)
        inputs = _inputs(bank) if everything else ""
        compiled, writes = planned_writes(bank, names, profile=profile)
        if everything:
            stamp = _Stamp(
                compiler=COMPILER, inputs=inputs, outputs=_hash(skill.sha256 for skill in compiled)
            )
            mark = needed(bank.path, "bank", STAMP, stamp.model_dump_json() + "\n")
            writes += [] if mark is None else [mark]
        written = commit(bank.path, writes)
        return WriteReport(tuple(path for path in written if path != bank.path / STAMP), compiled)


def refuse_edited(bank: SkillBank, skill: CompiledSkill) -> None:
    """What a person wrote into a compiled file is not lost.

    Raises:
        SkillBankError: the file holds what no compilation of this bank wrote.
    """
    if output_state(bank, skill) == "edited":
        raise SkillBankError(
            f"{skill.output} is not what this bank wrote: it was edited by hand, or made by another. See "
            f"agent-evo skills diff {skill.name}; move the edit into {skill.group}/{skill.name}/base.md, "
            f"delete the file, and compile again."
        )


def output_state(bank: SkillBank, skill: CompiledSkill) -> OutputState:
    """How the SKILL.md on disk compares with the compiled skill: `edited` is what no compilation wrote."""
    if not skill.output.is_file():
        return "missing"
    held = sha256_bytes(skill.output.read_bytes())
    if held == skill.sha256:
        return "current"
    return "stale" if (bank.path / kept_copy_of(skill, held)).is_file() else "edited"


def _is_stamped(bank: SkillBank) -> bool:
    """Whether the last compilation of everything read what is there now, and its outputs are there still."""
    try:
        stamp = _Stamp.model_validate_json((bank.path / STAMP).read_bytes())
        held = _hash(sha256_bytes((bank.project / ref.output).read_bytes()) for ref in bank.skills())
    except (OSError, ValidationError):
        return False
    waiting = (bank.path / JOURNAL).exists()
    return (
        stamp.compiler == COMPILER and stamp.outputs == held and not waiting and stamp.inputs == _inputs(bank)
    )


def _inputs(bank: SkillBank) -> str:
    """One hash over every file that could decide what is compiled, whether it is listed or not."""
    return _hash(_input_lines(bank))


def _input_lines(bank: SkillBank) -> Iterator[str]:
    yield sha256_bytes((bank.path / "bank.yaml").read_bytes())
    for ref in bank.skills():
        folder = bank.path / ref.group / ref.name
        patches = sorted((folder / "patches").glob("*.md"))
        for path in (folder / "base.md", folder / "manifest.yaml", *patches):
            yield f"{ref.name}/{path.name} {sha256_bytes(path.read_bytes())}"


def _hash(lines: Iterator[str]) -> str:
    return sha256_bytes("\n".join(lines).encode())
