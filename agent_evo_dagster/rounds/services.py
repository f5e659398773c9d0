"""The services that a round will ask, as the settings name them, and what each lacks. None is asked here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_evo_dagster.analysts.budget import ANALYSIS, JUDGING, ROLLOUTS, Budget, Names
from agent_evo_dagster.analysts.registry import Choice, require_ready
from agent_evo_dagster.errors import AgentEvoError, SettingsError
from agent_evo_dagster.rollouts.readers import reader_of
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse

Asker = Literal["analyst", "judge llm", "judge rollout"]


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a round will ask, for whom, and what it lacks."""

    asker: Asker
    name: str  # of the service; empty where none is named
    model: str | None  # None: the service's own choice, or none is named
    missing: str | None  # the error that the round would end with; None: all is there

    @property
    def line(self) -> str:
        """All of it, in words."""
        if self.missing is not None:
            return f"{self.asker}: {self.missing}"
        return f"{self.asker}: {self.name}, {self.model or 'its own choice of model'}: configured; not asked"


def services(settings: Settings) -> list[Service]:
    """The services that a round will ask; none with the settings as they are by default."""
    found = []
    if settings.analyst != "rules":
        choice = _choice(settings, "analyst", settings.analyst, ANALYSIS, settings.analyses)
        found.append(_looked_at("analyst", choice, require_ready))
    if "rollout" in settings.judges:
        choice = _choice(settings, "rollout", settings.rollout_reader, ROLLOUTS, settings.rollouts)
        found.append(_looked_at("judge rollout", choice, _require_reader))
    if "llm" in settings.judges:
        choice = _choice(settings, "judge", settings.judge_service, JUDGING, settings.analyses)
        found.append(_looked_at("judge llm", choice, require_ready))
    return found


def require_services(settings: Settings, key: str | None = None) -> None:
    """Refuse a round that would train, and then have nobody to ask: a new one, or `key`, which is open.

    Whoever has asked already in that one needs nothing: the answers are on record.

    Raises:
        SettingsError: a service, a model's name, a key, a program, a package or a price is missing.
    """
    lacking = [
        one for one in services(settings) if one.missing is not None and not _asked(settings, key, one)
    ]
    if lacking:
        told = "".join(f"\n  {service.line}" for service in lacking)
        raise SettingsError(f"A round was asked for, and what it is to ask is not all there:{told}")


def _asked(settings: Settings, key: str | None, service: Service) -> bool:
    asset = "skill_patches" if service.asker == "analyst" else "patch_evaluation"
    return key is not None and Warehouse(settings.warehouse).path([asset], key).exists()


def _choice(settings: Settings, prefix: str, service: str | None, names: Names, folder: Path) -> Choice:
    """What the settings whose names begin with `prefix` choose."""
    model, url, key_env, money = (
        getattr(settings, f"{prefix}_{name}") for name in ("model", "url", "key_env", "money")
    )
    return Choice(service, model, url, key_env, Budget(money=money, names=names), settings.prices, folder)


def _require_reader(choice: Choice) -> None:
    reader_of(choice).ready()


def _looked_at(asker: Asker, choice: Choice, require: Callable[[Choice], None]) -> Service:
    try:
        require(choice)
    except AgentEvoError as error:
        return Service(asker, choice.analyst or "", choice.model, str(error))
    return Service(asker, choice.analyst or "", choice.model, None)
