"""Whether registry and packages are as they were written, and whether a package still works. No mending."""

from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import AgentEvoError, SkillBankError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.records import PackageRecord
from agent_evo_dagster.skills.packages.frozen import INDEX, STAGING
from agent_evo_dagster.skills.packages.ids import FOLDER, PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import REGISTRY, Registry, read_registry, record_of
from agent_evo_dagster.skills.packages.skills import BANK, compile_problems
from agent_evo_dagster.skills.packages.use import require_whole


@dataclass(frozen=True)
class Checked:
    """What was found: problems mean that something was changed or lost; warnings, that something is left."""

    packages: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def check_packages(bank: Path) -> Checked:
    """Check the registry, its history against the record of decisions, and every file of every package."""
    try:
        registry = read_registry(bank)
    except SkillBankError as error:
        return Checked(0, (str(error),), ())
    problems = [*_history_problems(bank, registry)]
    for name in registry.packages:
        problems += _whole_problems(bank, registry, parse_id(name))
    return Checked(len(registry.packages), tuple(problems), tuple(_left_over(bank, registry)))


def smoke_test(bank: Path, package: PackageId) -> list[str]:
    """Whether a package can be used: it is whole, and its sources compile to its skills. Empty: it can.

    Raises:
        SkillBankError: no such package is registered, or the registry cannot be used.
    """
    registry = read_registry(bank)
    if str(package) not in registry.packages:
        require_whole(bank, registry, package)
    problems = _whole_problems(bank, registry, package)
    if problems or not (package.path(bank) / BANK).is_dir():
        return problems
    try:
        return [f"{package}: {problem}" for problem in compile_problems(package.path(bank))]
    except AgentEvoError as error:
        return [f"{package}: its skills do not compile: {error}"]


def _whole_problems(bank: Path, registry: Registry, package: PackageId) -> list[str]:
    try:
        require_whole(bank, registry, package)
    except SkillBankError as error:
        return [str(error)]
    return []


def _history_problems(bank: Path, registry: Registry) -> list[str]:
    """The registry's history must be what the record of decisions ends in."""
    if not registry.packages and not (bank / FOLDER).is_dir():
        return []
    try:
        records = ledger_of(bank).records()
    except AgentEvoError as error:
        return [str(error)]
    said = [
        record.model_copy(update={"prev": "", "hash": ""})
        for record in records
        if isinstance(record, PackageRecord)
    ]
    held = [record_of(switch) for switch in registry.history]
    if not held and said and any((bank / FOLDER).glob(f"*/**/{INDEX}")):
        return [f"{bank / REGISTRY} was deleted: {len(said)} switches are on record; restore it."]
    if held != said[len(said) - len(held) :]:
        return [
            f"the history of {bank / REGISTRY} has {len(held)} switches that are not the last ones on record "
            f"in {ledger_of(bank).path.name}, which has {len(said)}: one was changed or cut; restore it."
        ]
    return []


def _left_over(bank: Path, registry: Registry) -> list[str]:
    """Folders of packages that are not registered: their making was cut short before that."""
    folder = bank / FOLDER
    found = []
    for index in sorted(folder.glob(f"*/**/{INDEX}")):
        name = index.parent.relative_to(folder).as_posix()
        if STAGING in name or name in registry.packages or not _is_id(name):
            continue
        found.append(
            f"{index.parent} was frozen, but not registered: its making was cut short. Freeze it again under "
            f"that name, or delete the folder."
        )
    return found


def _is_id(name: str) -> bool:
    """Whether a folder can be a package; those within one cannot."""
    try:
        parse_id(name)
    except SkillBankError:
        return False
    return True
