"""Settings of compiled skills as a training configuration takes them: the seam between two rooms."""

from collections.abc import Sequence

from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.settings import placed_settings
from agent_evo_dagster.training.config_sources import SourcedSetting


def sourced_settings(bank: SkillBank, *, extra: Sequence[Patch] = ()) -> list[SourcedSetting]:
    """All settings of the bank's skills, with candidates on top, each with the section that gives it."""
    return [
        SourcedSetting(
            name=item.spec.name,
            value=item.spec.default,
            min=item.spec.min,
            max=item.spec.max,
            why=item.spec.why,
            skill=item.skill,
            section=item.section,
        )
        for item in placed_settings(bank, extra=extra)
    ]
