"""`python skill_bank/compile.py`: compiles the bank beside it. The library does all of it."""

import argparse
import sys
from pathlib import Path

from agent_evo_dagster.cli.skills import compile_selected, print_diff, print_problems, print_states
from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.skills.bank import SkillBank


def parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    made = argparse.ArgumentParser(description="Compile the skills of the bank beside this file.")
    made.add_argument("skill", nargs="?", metavar="SKILL", help="one skill")
    made.add_argument("--group", metavar="G", help="all skills of one group")
    made.add_argument("--all", action="store_true", help="all skills")
    made.add_argument("--dry-run", action="store_true", help="say what would be written, write nothing")
    made.add_argument("--diff", action="store_true", help="show what would change, write nothing")
    made.add_argument("--status", action="store_true", help="show how each SKILL.md compares with the bank")
    made.add_argument("--validate", action="store_true", help="check every skill, write nothing")
    made.add_argument("--bank", type=Path, default=Path(__file__).parent, help=argparse.SUPPRESS)
    return made


def main(arguments: list[str]) -> int:
    """Run the command; 0 is fine, 1 refused, 3 something is not up to date."""
    asked = parser().parse_args(arguments)
    try:
        bank = SkillBank.open(asked.bank)
        if asked.validate:
            return print_problems(bank)
        if asked.status:
            return print_states(bank)
        if asked.diff:
            everything = asked.all or not (asked.skill or asked.group)
            return print_diff(bank, asked.skill, asked.group, everything=everything)
        return compile_selected(bank, asked.skill, asked.group, everything=asked.all, dry_run=asked.dry_run)
    except AgentEvoError as error:
        print(f"compile.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
