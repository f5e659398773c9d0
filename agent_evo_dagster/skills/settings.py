"""The settings of compiled skills, each with the section that holds it. Not what a run makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_evo_dagster.patches.settings_block import SettingSpec, read_settings
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.apply import apply_patches
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all, with_extra


@dataclass(frozen=True, slots=True)
class PlacedSetting:
    """One setting, and where a person finds it."""

    skill: str
    section: str
    spec: SettingSpec


def placed_settings(bank: SkillBank, *, extra: Sequence[Patch] = ()) -> list[PlacedSetting]:
    """All settings of the bank's skills as compiled, with the candidates `extra` on top.

    Raises:
        SkillBankError: a skill does not compile.
    """
    compile_all(bank, extra=extra)
    found: list[PlacedSetting] = []
    for ref in bank.skills():
        source = bank.source(ref.name)
        patched = apply_patches(source.document, with_extra(source, extra), origin=source.origin)
        for section, text in patched.sections.items():
            specs = read_settings(text, origin=f"{source.origin}, section {section!r}")
            found += [PlacedSetting(ref.name, section, spec) for spec in specs]
    return found
