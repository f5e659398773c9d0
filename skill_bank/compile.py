"""`python skill_bank/compile.py`: compiles the bank beside it. The library does all of it."""

import argparse
import sys
from pathlib import Path

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


def parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    made = argparse.ArgumentParser(
        description="Compile the skills of the bank beside this file.",
        epilog="Exit codes: 0 all is well; 1 refused, or a skill is invalid; 2 wrong command line; "
        "3 (--diff, --status) files and bank differ.",
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
    made.add_argument("--json", action="store_true", help="print one JSON document instead")
    made.add_argument("--bank", type=Path, default=Path(__file__).parent, help=argparse.SUPPRESS)
    return made


def main(arguments: list[str]) -> int:
    """Run the command; see the exit codes above."""
    asked = parser().parse_args(arguments)
    try:
        return _run(SkillBank.open(asked.bank), asked)
    except AgentEvoError as error:
        print(f"compile.py: {error}", file=sys.stderr)
        return 1


def _run(bank: SkillBank, asked: argparse.Namespace) -> int:
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
