"""`python skill_bank/compile.py`: compiles and packages the bank beside it. The library does all of it."""

import argparse
import sys
from pathlib import Path

from agent_evo_dagster.cli.package_requests import PackageRequest, make_package, promotion
from agent_evo_dagster.cli.package_views import list_packages, show_smoke
from agent_evo_dagster.cli.skill_views import (
    Selection,
    compile_selected,
    show_diff,
    show_problems,
    show_states,
    squash_selected,
)
from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.ids import Kind


def parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    made = argparse.ArgumentParser(
        description="Compile and package the skills of the bank beside this file.",
        epilog="Exit codes: 0 all is well; 1 refused, a skill is invalid, or evidence is missing (--review); "
        "2 wrong command line; 3 (--diff, --status) files and bank differ.",
    )
    made.add_argument("skill", nargs="?", metavar="SKILL", help="one skill")
    made.add_argument("-p", "--profile", metavar="PROFILE", help="with the patches of this profile")
    made.add_argument("--group", metavar="G", help="all skills of one group")
    made.add_argument("--all", action="store_true", help="all skills")
    made.add_argument("--dry-run", action="store_true", help="say what would be written, write nothing")
    action = made.add_mutually_exclusive_group()
    action.add_argument("--diff", action="store_true", help="show what would change, write nothing")
    action.add_argument("--status", action="store_true", help="show how each SKILL.md compares with the bank")
    action.add_argument("--validate", action="store_true", help="check every skill, write nothing")
    action.add_argument("--squash", action="store_true", help="make the active patches part of base.md")
    action.add_argument("--list-packages", action="store_true", help="list packages and what is current")
    action.add_argument("--smoke-test", action="store_true", help="check that packages can be used")
    kinds = [kind.value for kind in Kind]
    action.add_argument("--package", choices=kinds, metavar="KIND", help=f"freeze one of: {', '.join(kinds)}")
    action.add_argument("--promote", metavar="ID", help="make an experimental package current for its domain")
    made.add_argument("--json", action="store_true", help="print one JSON document instead")
    _add_package_flags(made.add_argument_group("packages"))
    made.add_argument("--bank", type=Path, default=Path(__file__).parent, help=argparse.SUPPRESS)
    return made


def _add_package_flags(group: argparse._ArgumentGroup) -> None:
    """What --package, --promote and --smoke-test ask for."""
    group.add_argument("--package-id", metavar="ID", help="--smoke-test: this one alone")
    group.add_argument("--name", metavar="N", help="name of the new package")
    group.add_argument("--domain", metavar="D", help="experimental, vertical: the domain")
    group.add_argument("--from-package", metavar="ID", help="experimental, vertical: where it comes from")
    group.add_argument("--run-id", metavar="R", help="task-package: the training run of its round")
    group.add_argument("--run-dir", metavar="P", type=Path, help="task-package: the folder of that run")
    rounds = group.add_mutually_exclusive_group()
    rounds.add_argument("--round", metavar="N,M", dest="rounds", help="lineage-archive: numbers of rounds")
    rounds.add_argument(
        "--round-range", metavar="A-B", dest="rounds", help="lineage-archive: a range of rounds"
    )
    group.add_argument(
        "--review", action="store_true", help="show the evidence and what is missing; write nothing"
    )
    group.add_argument("--by", metavar="NAME", help="who decides, for the record; default: this account")
    group.add_argument("--reason", metavar="TEXT", help="why, for the record")


def _package(asked: argparse.Namespace) -> PackageRequest:
    """The flags of packages as the library takes them."""
    return PackageRequest(
        kind=Kind(asked.package or Kind.VERTICAL),
        name=asked.name,
        domain=asked.domain,
        from_package=asked.from_package,
        profile=asked.profile,
        run_id=asked.run_id,
        run_dir=asked.run_dir,
        rounds=asked.rounds,
        by=asked.by,
        reason=asked.reason,
        review=asked.review,
        dry_run=asked.dry_run,
        as_json=asked.json,
    )


def main(arguments: list[str]) -> int:
    """Run the command; see the exit codes above."""
    asked = parser().parse_args(arguments)
    try:
        return _run(SkillBank.open(asked.bank), asked)
    except AgentEvoError as error:
        print(f"compile.py: {error}", file=sys.stderr)
        return 1


def _run(bank: SkillBank, asked: argparse.Namespace) -> int:
    if asked.list_packages:
        return list_packages(bank, as_json=asked.json)
    if asked.smoke_test:
        return show_smoke(bank, asked.package_id, as_json=asked.json)
    if asked.package:
        return make_package(bank, _package(asked))
    if asked.promote:
        return make_package(bank, promotion(asked.promote, _package(asked)))
    return _compile(bank, asked)


def _compile(bank: SkillBank, asked: argparse.Namespace) -> int:
    chosen = Selection(asked.skill, asked.group, asked.all, asked.profile)
    if asked.validate:
        return show_problems(bank, as_json=asked.json)
    if asked.status:
        return show_states(bank, profile=asked.profile, as_json=asked.json)
    if asked.diff:
        everything = asked.all or not (asked.skill or asked.group)
        chosen = Selection(asked.skill, asked.group, everything, asked.profile)
        return show_diff(bank, chosen, as_json=asked.json)
    if asked.squash:
        return squash_selected(bank, chosen, dry_run=asked.dry_run, as_json=asked.json)
    return compile_selected(bank, chosen, dry_run=asked.dry_run, as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
