"""The training configuration of a round, from the bank that it reads and what was asked. No run."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pydantic import ValidationError

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.seeds import training_seed
from agent_evo_dagster.rounds.types import RoundManifest
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.settings import placed_settings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_sources import (
    ResolvedConfig,
    SettingValue,
    SourcedSetting,
    resolve_config,
)


def round_config(manifest: RoundManifest, bank: SkillBank) -> ResolvedConfig:
    """The configuration of the round with `bank` as it is.

    Raises:
        SkillBankError: a skill of the bank does not compile.
        TrainingError: a setting is unknown or out of its range.
    """
    return resolve_config(
        skill_settings=_sourced(bank, ()),
        request=manifest.request,
        overrides=manifest.overrides,
        seed=training_seed(manifest),
        file=manifest.config_file,
    )


def compared_configs(
    asked: TrainingConfig, bank: SkillBank, patch: Patch
) -> tuple[TrainingConfig, TrainingConfig]:
    """What tells a patch's effect: the configuration `asked` of its round, without the patch and with it.

    Settings that the patch changes are as the skills have them. What was asked of the round for one of them
    holds for neither side: it would hide the patch, and both would train alike.

    Raises:
        SkillBankError: a skill does not compile with the patch.
        TrainingError: a value does not fit beside what was asked for.
    """
    before, after = ({one.name: one.value for one in _sourced(bank, more)} for more in ((), (patch,)))
    changed = {name for name, value in after.items() if name in before and value != before[name]}
    first, second = (
        {**asked.model_dump(), **{name: side[name] for name in changed}} for side in (before, after)
    )
    return _checked(first, patch), _checked(second, patch)


def _checked(values: Mapping[str, object], patch: Patch) -> TrainingConfig:
    try:
        return TrainingConfig.model_validate(values)
    except ValidationError as error:
        raise TrainingError(
            f"The settings of {patch.id} cannot be tried beside what was asked of its round: {error}"
        ) from error


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
