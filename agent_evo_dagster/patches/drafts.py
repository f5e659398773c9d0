"""What an analyst would change: drafts of edits, unchecked. Patches are made of them in propose."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.powers import deciding, powers_of
from agent_evo_dagster.patches.settings_block import SettingSpec


@dataclass(frozen=True, slots=True)
class SettingDraft:
    """Another default for one setting of a skill."""

    findings: tuple[str, ...]
    skill: str
    setting: str
    value: float
    why: str

    def value_for(self, spec: SettingSpec) -> int | float:
        """The value in the kind of number that the setting has."""
        whole = all(isinstance(number, int) for number in (spec.default, spec.min, spec.max))
        return int(self.value) if whole else self.value

    def misfit(self, spec: SettingSpec) -> str | None:
        """Why the setting cannot have the value."""
        value = self.value_for(spec) if math.isfinite(self.value) else None
        if value != self.value:
            return f"{spec.name} cannot be {self.value}"
        if not spec.min <= self.value <= spec.max:
            return f"{spec.name} may be {spec.min} to {spec.max}; the draft says {self.value}"
        if value == spec.default:
            return f"{spec.name} is {spec.default} already"
        hidden = first_hidden(self.why)
        if hidden:
            return f"its reason has a hidden character: {hidden}"
        if powers_of(self.why) or deciding(self.why):
            return "its reason holds a link, a command, or one that decides on patches"
        return None


@dataclass(frozen=True, slots=True)
class ProseDraft:
    """Words for one section of a skill."""

    findings: tuple[str, ...]
    skill: str
    section: str
    action: Literal["append", "prepend", "replace"]
    text: str
    why: str


Draft: TypeAlias = SettingDraft | ProseDraft
