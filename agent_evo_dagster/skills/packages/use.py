"""Which package a task takes, switching between those that are there, and the way back. Nothing is frozen."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.patches.decisions import person, reason_given
from agent_evo_dagster.skills.packages.frozen import INDEX, verify_package
from agent_evo_dagster.skills.packages.ids import PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import (
    Action,
    Registry,
    Switch,
    change_registry,
    previous,
    read_registry,
    with_switch,
)


@dataclass(frozen=True)
class Mover:
    """Who switches, why and when; a dry run writes nothing."""

    by: str
    reason: str
    at: datetime
    dry_run: bool = False


def select(registry: Registry, *, domain: str | None = None, asked: str | None = None) -> PackageId:
    """The package that a new task takes: the current one of its domain, else the stable one.

    Any other, experimental packages, task packages and archives included, only where `asked` names it.

    Raises:
        SkillBankError: there is none.
    """
    if asked is not None:
        return parse_id(_known(registry, asked))
    found = registry.current.get(f"vertical/{domain}") if domain is not None else None
    found = found or registry.current.get("stable")
    if found is None:
        raise SkillBankError(
            "no package is current; the bank's own skills are all there is. Freeze one: "
            "agent-evo skills packages freeze stable NAME."
        )
    return parse_id(found)


def require_whole(bank: Path, registry: Registry, package: PackageId) -> Path:
    """The folder of a registered package that is as it was frozen.

    Raises:
        SkillBankError: it is not registered, is gone, or was changed.
    """
    entry = registry.packages[_known(registry, str(package))]
    path = package.path(bank)
    index = path / INDEX
    if not index.is_file() or sha256_file(index) != entry.sha256:
        raise SkillBankError(
            f"package {package} at {path} is not the registered one ({entry.sha256[:12]}); restore it."
        )
    problems = verify_package(path)
    if problems:
        raise SkillBankError(f"package {package} at {path} was damaged: {problems[0]}; restore it.")
    return path


def use(bank: Path, package: PackageId, mover: Mover) -> Switch | None:
    """Make `package`, which was current before, the current one of its slot; None where it is already.

    Raises:
        SkillBankError: it cannot be current, never was, or is damaged.
        DecisionError: no name or reason is given that can stand in the record.
    """
    slot = package.slot

    def target(registry: Registry) -> str | None:
        require_whole(bank, registry, package)
        return str(package)

    return _moved(bank, slot, target, mover, "use")


def roll_back(bank: Path, slot: str, mover: Mover) -> Switch | None:
    """Give `slot` back what was current before the last switch, be it nothing; once more undoes that.

    Raises:
        SkillBankError: the slot was never switched, or the package of before is damaged.
        DecisionError: no name or reason is given that can stand in the record.
    """

    def target(registry: Registry) -> str | None:
        before = previous(registry, slot)
        if before is not None:
            require_whole(bank, registry, parse_id(before))
        return before

    return _moved(bank, slot, target, mover, "rollback")


def _moved(
    bank: Path, slot: str, target: Callable[[Registry], str | None], mover: Mover, action: Action
) -> Switch | None:
    by, reason = person(mover.by), reason_given(mover.reason)

    def edit(registry: Registry) -> Registry:
        after = target(registry)
        if registry.current.get(slot) == after:
            return registry
        return with_switch(registry, slot, after, action, by=by, reason=reason, at=mover.at)

    if mover.dry_run:
        held = read_registry(bank)
        changed = edit(held)
    else:
        held, changed = change_registry(bank, edit)
    return changed.history[-1] if len(changed.history) > len(held.history) else None


def _known(registry: Registry, name: str) -> str:
    """The id, where the registry has it."""
    if name not in registry.packages:
        known = ", ".join(registry.packages) or "none yet"
        raise SkillBankError(f"no package {name!r} is registered; there are: {known}.")
    return name
