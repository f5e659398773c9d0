"""`skill_bank/compile.py --package ...`: what its flags ask for, turned into calls. Printing is in views."""

import getpass
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agent_evo_dagster.cli.package_views import show_review, tell_frozen, tell_release
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.errors import DecisionError, SkillBankError
from agent_evo_dagster.rounds.archive import archive_rounds, parse_rounds
from agent_evo_dagster.rounds.finished import finished_round, round_of_run
from agent_evo_dagster.rounds.packaging import freeze_round
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.ids import Kind, PackageId, parse_id, promoted
from agent_evo_dagster.skills.packages.release import Asked, plan, release


@dataclass(frozen=True)
class PackageRequest:
    """The flags that say which package is to be made."""

    kind: Kind
    name: str | None
    domain: str | None = None
    from_package: str | None = None
    profile: str | None = None
    run_id: str | None = None
    run_dir: Path | None = None
    rounds: str | None = None
    by: str | None = None
    reason: str | None = None
    review: bool = False
    dry_run: bool = False
    as_json: bool = False


def promotion(package: str, asked: PackageRequest) -> PackageRequest:
    """The request that promotes an experimental package, under its own name unless one is given."""
    wanted = promoted(parse_id(package), asked.name)
    domain = asked.domain or wanted.domain
    return replace(asked, kind=wanted.kind, name=wanted.name, domain=domain, from_package=package)


def make_package(bank: SkillBank, asked: PackageRequest) -> int:
    """Freeze the package that was asked for, or review it; the exit code.

    Raises:
        SkillBankError: flags that do not belong to its kind, or the package is refused.
        RoundError: its rounds are not there or not finished.
    """
    _refuse_foreign(asked)
    if asked.kind is Kind.TASK:
        return _make_task(bank, asked)
    if asked.kind is Kind.LINEAGE:
        return _make_archive(bank, asked)
    return _make_skills(bank, asked)


def decider(by: str | None) -> str:
    """The name that stands in the record: the one given, else that of the account.

    Raises:
        DecisionError: none is given, and the account has none.
    """
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise DecisionError("A switch of packages is recorded with a name; give --by NAME.") from error


def _make_skills(bank: SkillBank, asked: PackageRequest) -> int:
    origin, domain = asked.from_package, asked.domain
    if domain is None and origin is not None and asked.kind is Kind.VERTICAL:
        domain = parse_id(origin).domain
    package = PackageId(asked.kind, _name(asked), domain)
    wanted = Asked(
        package=package,
        by=decider(asked.by),
        reason=asked.reason or f"frozen as {package}",
        at=datetime.now(UTC),
        parent=origin,
        profile=asked.profile,
    )
    if asked.review:
        return show_review(package, plan(bank, wanted).review, as_json=asked.as_json)
    done = release(bank, wanted, dry_run=asked.dry_run)
    return tell_release(bank, done, dry_run=asked.dry_run, as_json=asked.as_json)


def _make_task(bank: SkillBank, asked: PackageRequest) -> int:
    settings = current_settings()
    key = round_of_run(settings, run_id=asked.run_id, run_dir=asked.run_dir)
    dry_run = asked.dry_run or asked.review
    frozen = freeze_round(bank.path, finished_round(settings, key), name=asked.name, dry_run=dry_run)
    package = PackageId(Kind.TASK, frozen.path.name)
    return tell_frozen(bank, package, frozen, dry_run=dry_run, as_json=asked.as_json)


def _make_archive(bank: SkillBank, asked: PackageRequest) -> int:
    if asked.rounds is None:
        raise SkillBankError("say which rounds to archive: --round 1,2 or --round-range 1-5.")
    dry_run = asked.dry_run or asked.review
    keys = parse_rounds(asked.rounds)
    frozen = archive_rounds(current_settings(), _name(asked), keys, into=bank.path, dry_run=dry_run)
    package = PackageId(Kind.LINEAGE, frozen.path.name)
    return tell_frozen(bank, package, frozen, dry_run=dry_run, as_json=asked.as_json)


def _name(asked: PackageRequest) -> str:
    if asked.name is None:
        raise SkillBankError(f"a {asked.kind} package needs a name: --name N.")
    return asked.name


def _refuse_foreign(asked: PackageRequest) -> None:
    """A flag of another kind of package is a mistake, not something to pass over."""
    runs = asked.run_id is not None or asked.run_dir is not None
    skills = asked.domain is not None or asked.from_package is not None or asked.profile is not None
    wrong = {
        "--run-id and --run-dir are for a task-package": runs and asked.kind is not Kind.TASK,
        "--round and --round-range are for a lineage-archive": asked.rounds is not None
        and asked.kind is not Kind.LINEAGE,
        "--domain, --from-package and -p are for packages of skills": skills
        and asked.kind in (Kind.TASK, Kind.LINEAGE),
    }
    for why, is_so in wrong.items():
        if is_so:
            raise SkillBankError(f"{why}; this is a {asked.kind}.")
