"""The stream of edits of the gate's ablation: the same for both arms, in an order that the seed decides.

Values are absolute, so that an edit says the same whatever was adopted before it. Nothing is judged here.
"""

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.document import patch_id, section_hash
from agent_evo_dagster.patches.settings_block import read_settings, with_default
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.bank import SkillBank

SKILL = "rllm-config"
Kind = Literal["helpful", "useless", "harmful"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One setting to a value within the range that its skill allows."""

    kind: Kind
    setting: str
    value: float | int
    why: str

    @property
    def words(self) -> str:
        """The edit in one line."""
        return f"{self.setting} to {self.value:g}"


EDITS = (
    Edit("helpful", "learning_rate", 1e-4, "the shipped 2e-5 is cautious"),
    Edit("useless", "epsilon_high", 0.3, "one pass over a batch never meets the clip range"),
    Edit("useless", "max_grad_norm", 1.5, "AdamW hardly knows the scale of a gradient"),
    Edit("harmful", "learning_rate", 2e-3, "the largest value that the skill allows ruins a policy"),
    Edit("harmful", "max_new_tokens", 8, "the smallest value that the skill allows cuts every tool call"),
)


def stream(seed: int) -> tuple[Edit, ...]:
    """All edits, one a round."""
    order = list(EDITS)
    random.Random(seed).shuffle(order)
    return tuple(order)


def patch_of(edit: Edit, bank: SkillBank, *, round_key: str, created: datetime) -> Patch:
    """The edit as a patch against the skill as `bank` has it.

    Raises:
        SkillBankError: no section of the skill has the setting.
    """
    for section, text in bank.sections(SKILL).items():
        if edit.setting not in {spec.name for spec in read_settings(text, origin=f"{SKILL}#{section}")}:
            continue
        body, base = with_default(text, edit.setting, edit.value), section_hash(text)
        return Patch(
            id=patch_id(skill=SKILL, section=section, action="replace", base_hash=base, body=body),
            group=bank.ref(SKILL).group,
            skill=SKILL,
            target_section=section,
            action="replace",
            description=f"{edit.words}: {edit.why}.",
            base_hash=base,
            source_round=round_key,
            created=created,
            body=body,
        )
    raise SkillBankError(f"No section of {SKILL} has the setting {edit.setting!r}; the stream needs it.")
