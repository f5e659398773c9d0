"""How the skills of a bank stand: their outputs against the bank, their size. Nothing is written."""

import functools
from dataclasses import dataclass
from typing import Literal

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill, compile_source
from agent_evo_dagster.skills.size import Size, size_of
from agent_evo_dagster.skills.types import CompiledSkill, SkillRef
from agent_evo_dagster.skills.writing import OutputState, output_state


@dataclass(frozen=True)
class SkillState:
    """How the SKILL.md on disk compares with the bank."""

    group: str
    name: str
    state: OutputState | Literal["invalid"]
    patches: int  # active ones
    output: str
    problem: str = ""  # why it is invalid
    profile: str = ""  # the profile whose bytes the file holds, where it is stale
    size: Size | None = None  # None where it is invalid


def states(bank: SkillBank, *, profile: str | None = None) -> list[SkillState]:
    """The state of every skill, compared with `profile` where a skill has it: `edited` is by hand."""
    everywhere = functools.cache(bank.active)
    found = []
    for ref in bank.skills():
        try:
            has_it = profile is not None and profile in bank.manifest(ref).profiles
            source = bank.source(ref.name, profile=profile if has_it else None)
            found.append(_state(bank, ref, compile_source(bank, source, extra=(), everywhere=everywhere)))
        except AgentEvoError as error:
            found.append(SkillState(ref.group, ref.name, "invalid", 0, ref.output, str(error)))
    return found


def _state(bank: SkillBank, ref: SkillRef, compiled: CompiledSkill) -> SkillState:
    state = output_state(bank, compiled)
    return SkillState(
        group=ref.group,
        name=ref.name,
        state=state,
        patches=len(compiled.applied),
        output=ref.output,
        profile=_held_profile(bank, ref, compiled) if state == "stale" else "",
        size=size_of(compiled.text),
    )


def _held_profile(bank: SkillBank, ref: SkillRef, compiled: CompiledSkill) -> str:
    """The profile that the file was compiled with; empty where it is none of today's."""
    held = compiled.output.read_bytes()
    for profile in bank.manifest(ref).profiles:
        try:
            if compile_skill(bank, ref.name, profile=profile).text.encode() == held:
                return profile
        except AgentEvoError:
            continue  # a profile that does not compile is told by validate, and is not what the file holds
    return ""
