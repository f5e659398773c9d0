"""The life of skills in packages: the bank frozen as stable, tried for a domain, proved there, and back.

`stable/NAME` is the bank as it is, and becomes what tasks start from. `experimental/DOMAIN/NAME` is the bank
as it is later, to be tried in a domain; it is compared with the stable package that it comes from.
`vertical/DOMAIN/NAME` has the bytes of an experimental one whose every change has evidence.
"""

import dataclasses
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.patches.decisions import ledger_of, person, reason_given
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.packages.evidence import Review, review_promotion, review_release
from agent_evo_dagster.skills.packages.frozen import INDEX, freeze, planned
from agent_evo_dagster.skills.packages.ids import Kind, PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import (
    Action,
    Registry,
    change_registry,
    freezing,
    read_registry,
    with_package,
    with_switch,
)
from agent_evo_dagster.skills.packages.skills import BANK, SkillsAbout, about_skills, bank_in, frozen_skills
from agent_evo_dagster.skills.packages.use import require_whole


@dataclass(frozen=True)
class Asked:
    """What is to be frozen, by whom, why and when."""

    package: PackageId
    by: str
    reason: str
    at: datetime
    parent: str | None = None  # None: the stable package that is current
    profile: str | None = None


@dataclass(frozen=True)
class Plan:
    """A package that could be frozen."""

    package: PackageId
    parent: str | None
    about: SkillsAbout
    files: dict[str, Path | bytes]
    review: Review


@dataclass(frozen=True)
class Released:
    """What freezing did, or would do."""

    package: PackageId
    path: Path
    review: Review
    parent: str | None
    current: str | None  # the slot that it became the current one of
    before: str | None  # what was current there


def plan(bank: SkillBank, asked: Asked) -> Plan:
    """What `release` would freeze, and what speaks for it. Nothing is written.

    Raises:
        SkillBankError: the package exists, its parent does not fit, or a skill does not compile.
        DecisionError: the record of decisions is not whole.
    """
    registry = read_registry(bank.path)
    if str(asked.package) in registry.packages:
        raise SkillBankError(
            f"package {asked.package} exists; a frozen package never changes. Choose another name."
        )
    if asked.package.kind is Kind.STABLE:
        return _plan_stable(bank, asked, registry)
    if asked.package.kind is Kind.EXPERIMENTAL:
        return _plan_experimental(bank, asked, registry)
    if asked.package.kind is Kind.VERTICAL:
        return _plan_vertical(bank, asked, registry)
    raise SkillBankError(f"{asked.package} holds rounds, not the skills of a bank; it is made from rounds.")


def release(bank: SkillBank, asked: Asked, *, dry_run: bool = False) -> Released:
    """Freeze a package of skills, register it, and make it current where its kind can be.

    Raises:
        SkillBankError: as `plan`, or evidence is missing.
        DecisionError: as `plan`, or no name or reason is given that can stand in the record.
    """
    by, reason = person(asked.by), reason_given(asked.reason)
    asked = dataclasses.replace(asked, by=by, reason=reason)
    if dry_run:
        found = plan(bank, asked)
        _require_evidence(found)
        held = planned(
            found.package.path(bank.path), files=found.files, about=found.about.model_dump(mode="json")
        )
        return _released(found, held.path, read_registry(bank.path))
    with freezing(bank.path):
        found = plan(bank, asked)
        _require_evidence(found)
        frozen = freeze(
            found.package.path(bank.path), files=found.files, about=found.about.model_dump(mode="json")
        )
        digest = sha256_file(frozen.path / INDEX)
        before, _ = change_registry(bank.path, lambda registry: _registered(registry, found, digest, asked))
        return _released(found, frozen.path, before)


def review_package(bank: SkillBank, package: PackageId) -> Review:
    """What speaks for a package that is there, by what is on record today.

    Raises:
        SkillBankError: it is not registered, was damaged, or holds rounds.
        DecisionError: the record of decisions is not whole.
    """
    registry = read_registry(bank.path)
    path = require_whole(bank.path, registry, package)
    about, ledger = about_skills(path), ledger_of(bank.path)
    if package.kind is Kind.STABLE:
        held = bank_in(path)
        return review_release(held, compile_many(held, [ref.name for ref in held.skills()]), ledger)
    stable = about.base if package.kind is Kind.VERTICAL else about.parent
    origin = _parent(bank, str(stable), registry, Kind.STABLE)
    return review_promotion(bank_in(path), bank_in(origin), ledger, profile=about.profile)


def _registered(registry: Registry, found: Plan, digest: str, asked: Asked) -> Registry:
    """The registry with the package, current where its kind can be."""
    after = with_package(registry, found.package, digest, parent=found.parent)
    if found.package.kind is Kind.EXPERIMENTAL:
        return after
    slot = found.package.slot
    action: Action = "freeze" if found.package.kind is Kind.STABLE else "promote"
    package, by, reason = str(found.package), asked.by, asked.reason
    return with_switch(after, slot, package, action, by=by, reason=reason, at=asked.at)


def _released(found: Plan, path: Path, before: Registry) -> Released:
    slot = None if found.package.kind is Kind.EXPERIMENTAL else found.package.slot
    held = None if slot is None else before.current.get(slot)
    return Released(found.package, path, found.review, found.parent, slot, held)


def _require_evidence(found: Plan) -> None:
    if found.package.kind is Kind.EXPERIMENTAL or not found.review.missing:
        return
    listed = "\n  ".join(found.review.missing)
    raise SkillBankError(
        f"{found.package} is refused, because evidence is missing:\n  {listed}\n"
        f"Have the gate judge what is missing (agent-evo rounds run), or take it out of the bank "
        f"(agent-evo skills rollback), and freeze what is left."
    )


def _plan_stable(bank: SkillBank, asked: Asked, registry: Registry) -> Plan:
    if asked.parent is not None:
        raise SkillBankError("a stable package is made from the bank as it is; leave out --from-package.")
    if asked.profile is not None:
        raise SkillBankError("a stable package has the skills without a profile; leave out the profile.")
    frozen = frozen_skills(bank)
    review = review_release(bank, frozen.compiled, ledger_of(bank.path))
    parent = registry.current.get("stable")
    about = SkillsAbout(
        kind=Kind.STABLE,
        domain=None,
        parent=parent,
        profile=None,
        bank_hash=frozen.bank_hash,
        skills=frozen.hashes,
        patches=frozen.patches,
    )
    return Plan(asked.package, parent, about, dict(frozen.files), review)


def _plan_experimental(bank: SkillBank, asked: Asked, registry: Registry) -> Plan:
    parent = asked.parent or registry.current.get("stable")
    if parent is None:
        raise SkillBankError(
            f"{asked.package} is compared with a stable package, and none is current. Freeze one first: "
            f"agent-evo skills packages freeze stable NAME."
        )
    origin = _parent(bank, parent, registry, Kind.STABLE)
    frozen = frozen_skills(bank, profile=asked.profile)
    review = review_promotion(bank, bank_in(origin), ledger_of(bank.path), profile=asked.profile)
    about = SkillsAbout(
        kind=Kind.EXPERIMENTAL,
        domain=asked.package.domain,
        parent=parent,
        profile=asked.profile,
        bank_hash=frozen.bank_hash,
        skills=frozen.hashes,
        patches=frozen.patches,
    )
    return Plan(asked.package, parent, about, dict(frozen.files), review)


def _plan_vertical(bank: SkillBank, asked: Asked, registry: Registry) -> Plan:
    if asked.parent is None or asked.profile is not None:
        raise SkillBankError(
            f"{asked.package} has the bytes of an experimental package: name that one (--from-package "
            f"experimental/{asked.package.domain}/NAME), and no profile."
        )
    tried = _parent(bank, asked.parent, registry, Kind.EXPERIMENTAL)
    if parse_id(asked.parent).domain != asked.package.domain:
        raise SkillBankError(
            f"{asked.package} is of another domain than {asked.parent}, where it would come from; a package "
            f"is proved in the domain where it was tried."
        )
    about = about_skills(tried)
    base = str(about.parent)
    stable = _parent(bank, base, registry, Kind.STABLE)
    review = review_promotion(bank_in(tried), bank_in(stable), ledger_of(bank.path), profile=about.profile)
    promoted = about.model_copy(update={"kind": Kind.VERTICAL, "parent": asked.parent, "base": base})
    rows: list[JsonValue] = [dict(dataclasses.asdict(item)) for item in review.patches]
    files: dict[str, Path | bytes] = {name: tried / name for name in (BANK, "skills")}
    files["evidence.json"] = (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode()
    return Plan(asked.package, asked.parent, promoted, files, review)


def _parent(bank: SkillBank, name: str, registry: Registry, kind: Kind) -> Path:
    """The folder of a package that another is to come from, as it was frozen."""
    package = parse_id(name)
    if package.kind is not kind:
        raise SkillBankError(
            f"{name} is of the kind {package.kind}; this one comes from one of the kind {kind}."
        )
    return require_whole(bank.path, registry, package)
