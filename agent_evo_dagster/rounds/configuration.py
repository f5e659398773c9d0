"""The training configuration of a round, from the bank that it reads and what was asked. No run."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.seeds import training_seed
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.settings import placed_settings
from agent_evo_dagster.training.config_sources import (
    ResolvedConfig,
    SettingValue,
    SourcedSetting,
    resolve_config,
)


def round_config(
    manifest: RoundManifest, bank: SkillBank, *, candidates: Sequence[Patch] = ()
) -> ResolvedConfig:
    """The configuration of the round with `bank` as it is, and with `candidates` compiled on top.

    Raises:
        SkillBankError: a skill of the bank does not compile.
        TrainingError: a setting is unknown or out of its range.
    """
    return resolve_config(
        skill_settings=_sourced(bank, candidates),
        request=manifest.request,
        overrides=manifest.overrides,
        seed=training_seed(manifest),
        file=manifest.config_file,
    )


def asked_config(
    bank: SkillBank,
    request: str,
    overrides: Mapping[str, SettingValue],
    file: Mapping[str, SettingValue] = MappingProxyType({}),
) -> ResolvedConfig:
    """The configuration of a round that would be opened on `bank` now; its seed is only known then.

    Raises:
        SkillBankError: a skill of the bank does not compile.
        TrainingError: a setting is unknown or out of its range.
    """
    return resolve_config(
        skill_settings=_sourced(bank, ()), request=request, overrides=overrides, seed=0, file=file
    )


def _sourced(bank: SkillBank, candidates: Sequence[Patch]) -> list[SourcedSetting]:
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
        for item in placed_settings(bank, extra=candidates)
    ]
