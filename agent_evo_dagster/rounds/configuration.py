"""The training configuration of a round, from the bank that it reads and what was asked. No run."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agent_evo_dagster.errors import TrainingError
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
    *,
    seed: int = 0,
) -> ResolvedConfig:
    """The configuration of a round that would be opened on `bank` now; its own seed is only known then.

    Raises:
        SkillBankError: a skill of the bank does not compile.
        TrainingError: a setting is unknown or out of its range.
    """
    return resolve_config(
        skill_settings=_sourced(bank, ()), request=request, overrides=overrides, seed=seed, file=file
    )


def require_understood(found: ResolvedConfig, request: str) -> None:
    """Refuse a request of which nothing was understood: it would train as if nobody had asked.

    Raises:
        TrainingError: it has words, and none of them names a setting.
    """
    if found.ignored and not found.understood:
        raise TrainingError(
            f"Of the request {request!r} nothing was understood, so it would change nothing. Name settings "
            "in words, such as '20 steps, learning rate 1e-4', or as name=value (agent-evo config check "
            "'20 steps' shows what is understood); leave the request out; or go on all the same: --anyway."
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
