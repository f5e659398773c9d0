"""`registry.json`: which packages a bank has, which are current, and every switch between them.

The registry is replaced in one step under the bank's lock, together with the line in the record of decisions
that says who switched and why. What it says is checked whenever it is read: `current` is what the history of
switches leads to, and every package has the hash of its index.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import locked, sha256_bytes
from agent_evo_dagster.patches.decisions import LEDGER_NAME, ledger_of
from agent_evo_dagster.patches.records import PackageRecord
from agent_evo_dagster.skills.journal import LOCK, RecordLine, commit, needed, roll_forward
from agent_evo_dagster.skills.packages.frozen import STAGING
from agent_evo_dagster.skills.packages.ids import FOLDER, Kind, PackageId, parse_id

REGISTRY = "registry.json"
Action = Literal["freeze", "promote", "use", "rollback"]


class Entry(BaseModel):
    """One package."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    name: str
    domain: str | None = None
    parent: str | None = Field(None, description="The package that it was made from or compared with.")
    sha256: str = Field(description="Of its package.json, which has the hashes of all its files.")


class Switch(BaseModel):
    """One change of what is current."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime
    slot: str = Field(description="`stable`, or `vertical/<domain>`.")
    action: Action
    before: str | None = Field(description="The package that was current; null: none.")
    after: str | None = Field(description="The package that is current from then on; null: none.")
    sha256: str | None = Field(description="Of the package.json of `after`; null: there is none.")
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class Registry(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    packages: dict[str, Entry] = Field({}, description="By id: stable/v1, vertical/maths/v3 and so on.")
    current: dict[str, str] = Field({}, description="The current package of each slot.")
    history: tuple[Switch, ...] = Field((), description="Every switch, the oldest first.")

    @model_validator(mode="after")
    def _consistent(self) -> "Registry":
        for name, entry in self.packages.items():
            if str(PackageId(entry.kind, entry.name, entry.domain)) != name:
                raise ValueError(f"{name}: kind, domain and name say otherwise")
            if entry.parent is not None and entry.parent not in self.packages:
                raise ValueError(f"{name}: its parent {entry.parent} is not in the registry")
        if _led_to(self) != self.current:
            raise ValueError("`current` is not what the history of switches leads to")
        return self

    def digest(self) -> str:
        """Hex SHA-256 of all that it says."""
        return sha256_bytes(self.model_dump_json().encode())


def _led_to(registry: Registry) -> dict[str, str]:
    """What is current after all switches."""
    state: dict[str, str] = {}
    for number, switch in enumerate(registry.history, start=1):
        if state.get(switch.slot) != switch.before:
            raise ValueError(f"switch {number} goes on from {switch.before}, not from what was current")
        if switch.after is None:
            state.pop(switch.slot, None)
        elif switch.after not in registry.packages or parse_id(switch.after).slot != switch.slot:
            raise ValueError(f"switch {number} makes {switch.after} current; it cannot be in {switch.slot}")
        elif registry.packages[switch.after].sha256 != switch.sha256:
            raise ValueError(f"{switch.after} had another hash when switch {number} made it current")
        else:
            state[switch.slot] = switch.after
    return state


def read_registry(bank: Path) -> Registry:
    """The registry of the bank at `bank`; empty where no package was ever frozen.

    Raises:
        SkillBankError: it cannot be read, or contradicts itself.
    """
    path = bank / REGISTRY
    try:
        return Registry.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Registry()
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = ".".join(map(str, found["loc"]))
        raise SkillBankError(
            f"{path} cannot be used: {f'`{place}`: ' if place else ''}{found['msg']}. It is written by "
            f"commands alone; restore it, for example from git: git -C {bank} checkout -- {REGISTRY}"
        ) from error


def with_package(registry: Registry, package: PackageId, sha256: str, *, parent: str | None) -> Registry:
    """The registry with one more package; the same one again changes nothing.

    Raises:
        SkillBankError: it holds another package of that name.
    """
    entry = Entry(kind=package.kind, name=package.name, domain=package.domain, parent=parent, sha256=sha256)
    held = registry.packages.get(str(package))
    if held is not None:
        if held != entry:
            raise SkillBankError(f"package {package} exists with other content; choose another name.")
        return registry
    return _checked(registry, packages=dict(sorted({**registry.packages, str(package): entry}.items())))


def with_switch(
    registry: Registry, slot: str, after: str | None, action: Action, *, by: str, reason: str, at: datetime
) -> Registry:
    """The registry after one more switch, of `slot` to `after`.

    Raises:
        SkillBankError: `after` is not a package that can be current in `slot`.
    """
    held = registry.packages.get(after) if after is not None else None
    switch = Switch(
        at=at,
        slot=slot,
        action=action,
        before=registry.current.get(slot),
        after=after,
        sha256=None if held is None else held.sha256,
        by=by,
        reason=reason,
    )
    current = {**registry.current, slot: after}
    kept = {slot: name for slot, name in sorted(current.items()) if name is not None}
    return _checked(registry, current=kept, history=(*registry.history, switch))


def change_registry(bank: Path, edit: Callable[[Registry], Registry]) -> tuple[Registry, Registry]:
    """Carry out `edit` on the registry in one step; the bank's lock is held meanwhile.

    A switch that `edit` adds is written to the record of decisions as well, with it or not at all.

    Returns:
        The registry before and after.

    Raises:
        SkillBankError: the registry cannot be used, or `edit` refuses.
        DecisionError: the record of decisions is not whole.
    """
    with locked(bank / LOCK):
        roll_forward(bank)
        before = read_registry(bank)
        after = edit(before)
        if after == before:
            return before, after
        fresh = after.history[len(before.history) :]
        line = None
        if fresh:
            ledger_of(bank).records()
            line = RecordLine(path=LEDGER_NAME, payload=_payload(fresh[0]))
        write = needed(bank, "bank", REGISTRY, after.model_dump_json(indent=2) + "\n")
        commit(bank, [] if write is None else [write], line=line)
        return before, after


def _payload(switch: Switch) -> dict[str, JsonValue]:
    return dict(record_of(switch).model_dump(mode="json", exclude={"prev", "hash"}))


def record_of(switch: Switch) -> PackageRecord:
    """The line of the record of decisions that says the same."""
    return PackageRecord.model_validate(switch.model_dump())


@contextlib.contextmanager
def freezing(bank: Path) -> Iterator[None]:
    """Hold the folder of packages alone, freed of what killed processes left of packages in the making."""
    folder = bank / FOLDER
    with locked(folder / LOCK):
        for leftover in folder.rglob(f"{STAGING}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def previous(registry: Registry, slot: str) -> str | None:
    """What was current in `slot` before the last switch.

    Raises:
        SkillBankError: the slot was never switched.
    """
    switches = [switch for switch in registry.history if switch.slot == slot]
    if not switches:
        slots = ", ".join(dict.fromkeys(switch.slot for switch in registry.history)) or "none"
        raise SkillBankError(f"nothing was ever current in {slot!r}; slots with a history: {slots}.")
    return switches[-1].before


def _checked(registry: Registry, **changed: object) -> Registry:
    """The registry with fields changed, all its rules checked."""
    fields = {**registry.__dict__, **changed}
    try:
        return Registry.model_validate(fields)
    except ValidationError as error:
        raise SkillBankError(f"the registry refuses this: {error.errors()[0]['msg']}.") from error
