"""`agent-evo init`: a skill bank in a repository of one's own, shipped or from SKILL.md files."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from agent_evo_dagster.cli.project import project_root
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from agent_evo_dagster.skills.importing import ImportedSkill, import_bank, read_skills

# What commands keep in a bank for themselves.
IGNORED = b".lock\n.journal.json\n..journal.json.*\ncompiled/stamp.json\npackages/**/.staging-*\n"


def init(
    bank: Annotated[Path, typer.Argument(metavar="BANK", help="Folder of the new bank.")] = Path(
        "skill_bank"
    ),
    *,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Take the skills of this folder, as .claude/skills."),
    ] = None,
    group: Annotated[str, typer.Option("--group", help="Group of the skills that are taken.")] = "project",
    skip: Annotated[
        list[str] | None, typer.Option("--skip", metavar="NAME", help="A skill to leave out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be made only.")] = False,
) -> None:
    """Make a skill bank: with the shipped skills, or with those of --from, whose files stay as they are."""
    console = Console(soft_wrap=True)
    target = bank.expanduser().absolute()
    taken = [] if from_ is None else _taken(target, from_, skip or ())
    if target.exists():
        there = SkillBank.open(target)
        _require_all(there, taken)
        console.print(Text(f"{bank} is a skill bank with {len(there.skills())} skills; nothing was changed."))
        _print_next(console, bank)
        return
    if taken:
        _print_skills(console, taken)
    if dry_run:
        console.print(Text(f"would make {bank}"))
        return
    made = _make(target, taken, group)
    console.print(Text(f"made {bank}: {len(made.skills())} skills in {', '.join(made.file.groups)}"))
    _print_next(console, bank)


def _taken(target: Path, folder: Path, skip: Sequence[str]) -> list[ImportedSkill]:
    """The skills of a folder, as they would stand in the bank at `target`."""
    if not folder.is_dir():
        raise SkillBankError(f"--from {folder}: there is no such folder; name the one that holds the skills.")
    return read_skills(target.parent, folder, leave_out=skip)


def _make(target: Path, taken: Sequence[ImportedSkill], group: str) -> SkillBank:
    """The new bank on disk."""
    if not taken:
        return create_bank(project_root() / "skill_bank", target, more={".gitignore": IGNORED})
    return import_bank(target, taken, group=group, more={".gitignore": IGNORED})


def _require_all(bank: SkillBank, taken: Sequence[ImportedSkill]) -> None:
    """A bank that is there is never changed, so it must hold what was asked for.

    Raises:
        SkillBankError: it lacks skills of --from.
    """
    held = {ref.output for ref in bank.skills()}
    missing = [skill.name for skill in taken if skill.output not in held]
    if missing:
        raise SkillBankError(
            f"{bank.path} exists and does not have {', '.join(missing)}; nothing was changed. Make a bank of "
            "another name from them (agent-evo init OTHER --from FOLDER), and move their folders and their "
            "lines of bank.yaml over; or delete the bank to make it anew."
        )


def _print_skills(console: Console, taken: Sequence[ImportedSkill]) -> None:
    table = Table("skill", Column("sections proposed from headings", overflow="fold"))
    for skill in taken:
        table.add_row(Text(skill.name), Text(", ".join(skill.sections) or "none: the text is empty"))
    console.print(table)


def _print_next(console: Console, bank: Path) -> None:
    folder = shlex.quote(str(bank))
    place = folder if bank.is_absolute() else f'"$PWD"/{folder}'
    console.print("Next:")
    for line in (
        f"export AGENT_EVO_BANK={place}   # rounds and commands use this bank",
        "agent-evo skills status              # how the SKILL.md files compare with it",
        "agent-evo skills compile --all       # writes them, and nothing where they are the same",
        f"git add {folder}",
    ):
        console.print(Text(f"  {line}"))
