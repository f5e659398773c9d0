"""The version of the skill bank, told to Dagster by itself: what it made shows as stale without a click."""

from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank

BANK = dg.AssetKey("skill_bank_source")
_VERSION = "dagster/data_version"  # the tag that holds the version of an observation


def observe_bank(instance: dg.DagsterInstance, settings: Settings, template: Path) -> str | None:
    """Record what the bank holds, where that is not what Dagster saw last.

    A bank that a hand edit broke has no version: rounds refuse it by name, and nothing is recorded here.

    Returns:
        The new version, or nothing.
    """
    bank = settings.bank_path if settings.bank_path.exists() else template
    try:
        version = SkillBank.open(bank).content_hash()
    except AgentEvoError:
        return None
    if version == _last_version(instance):
        return None
    instance.report_runless_asset_event(dg.AssetObservation(BANK, tags={_VERSION: version}))
    return version


def _last_version(instance: dg.DagsterInstance) -> str | None:
    seen = instance.fetch_observations(BANK, limit=1).records
    observation = seen[0].asset_observation if seen else None
    return observation.tags.get(_VERSION) if observation else None
