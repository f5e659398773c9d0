"""`agent-evo skills`: compile, compare and list the skills of a bank, for people and for CI."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from agent_evo_dagster.cli import skill_history
from agent_evo_dagster.cli.skill_options import Bank, opened, print_difference
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill, output_writes, states, validate, write_skills

NOT_CURRENT = 3  # exit code where files and bank differ; 1 is a refusal, 2 a wrong command line
_COLOURS = {"current": "green", "stale": "yellow", "missing": "yellow", "edited": "magenta", "invalid": "red"}

app = typer.Typer(no_args_is_help=True, help="The skills of the bank: compile, diff, status.")
app.command("versions")(skill_history.list_versions)
app.command("rollback")(skill_history.rollback)
Skill = Annotated[str | None, typer.Argument(help="One skill.")]
Group = Annotated[str | None, typer.Option("--group", help="All skills of one group.")]
All = Annotated[bool, typer.Option("--all", help="All skills.")]


@app.command("compile")
def compile_(
    skill: Skill = None,
    group: Group = None,
    everything: All = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written only.")] = False,
    bank: Bank = None,
) -> None:
    """Write the SKILL.md of one skill, a group or all: all or nothing, and only what changed."""
    raise typer.Exit(compile_selected(opened(bank), skill, group, everything=everything, dry_run=dry_run))


@app.command()
def diff(skill: Skill = None, group: Group = None, everything: All = False, bank: Bank = None) -> None:
    """Show what compiling would change; exit 3 where it would. Without a skill or group: all."""
    everything = everything or (skill is None and group is None)
    raise typer.Exit(print_diff(opened(bank), skill, group, everything=everything))


@app.command()
def status(bank: Bank = None) -> None:
    """Show how each SKILL.md compares with the bank; exit 3 where one is not current."""
    raise typer.Exit(print_states(opened(bank)))


def compile_selected(
    bank: SkillBank, skill: str | None, group: str | None, *, everything: bool, dry_run: bool
) -> int:
    """Compile and write what was selected, and say what changed."""
    names = selected(bank, skill, group, everything=everything)
    if dry_run:
        writes = output_writes(bank, [compile_skill(bank, name) for name in names])
        _print_outputs("would write", [write.path for write in writes if write.root == "project"], len(names))
        return 0
    written = write_skills(bank, names).written
    outputs = [path for path in written if not path.is_relative_to(bank.path)]
    _print_outputs("wrote", [path.relative_to(bank.project).as_posix() for path in outputs], len(names))
    return 0


def print_diff(bank: SkillBank, skill: str | None, group: str | None, *, everything: bool) -> int:
    """Print a coloured diff from the files on disk to what the bank compiles to."""
    console = Console(soft_wrap=True)
    changed = False
    for name in selected(bank, skill, group, everything=everything):
        compiled = compile_skill(bank, name)
        held = compiled.output.read_bytes().decode(errors="replace") if compiled.output.is_file() else ""
        label = bank.ref(name).output
        changed = changed or held != compiled.text
        print_difference(console, held, compiled.text, f"{label} (on disk)", f"{label} (bank)")
    if not changed:
        console.print("no difference")
    return NOT_CURRENT if changed else 0


def print_states(bank: SkillBank) -> int:
    """Print a table of all skills and how their files compare with the bank."""
    table = Table("group", "skill", "state", "patches", Column("output", overflow="fold"))
    found = states(bank)
    for item in found:
        state = Text(item.state, style=_COLOURS[item.state])
        table.add_row(item.group, item.name, state, str(item.patches), Text(item.output))
    console = Console()
    console.print(table)
    for item in found:
        if item.problem:
            console.print(Text(visible(item.problem), style="red"), soft_wrap=True)
    return 0 if all(item.state == "current" for item in found) else NOT_CURRENT


def print_problems(bank: SkillBank) -> int:
    """Print what keeps skills from being compiled."""
    problems = validate(bank)
    console = Console(soft_wrap=True)
    for problem in problems:
        console.print(Text(visible(problem), style="red"))
    if not problems:
        console.print(f"{len(bank.skills())} skills are valid")
    return 1 if problems else 0


def selected(bank: SkillBank, skill: str | None, group: str | None, *, everything: bool) -> list[str]:
    """The names of the skills that a command line asks for.

    Raises:
        SkillBankError: none or more than one of skill, group and all was asked for, or an unknown group.
    """
    if [skill is not None, group is not None, everything].count(True) != 1:
        raise SkillBankError("say which skills: give one skill's name, or --group, or --all.")
    if skill is not None:
        return [bank.ref(skill).name]
    names = [ref.name for ref in bank.skills() if everything or ref.group == group]
    if not everything and group not in bank.file.groups:
        raise SkillBankError(f"no group {group!r} in this bank; it has: {', '.join(bank.file.groups)}.")
    return names


def _print_outputs(verb: str, paths: Sequence[str], count: int) -> None:
    """One line a SKILL.md, relative to the project; or that all are current."""
    console = Console(soft_wrap=True)
    for path in paths:
        console.print(Text(f"{verb} {path}"))
    if not paths:
        console.print(f"{count} skills are current; nothing to write")
