"""What the commands on skills do and print, for `agent-evo skills` and for `skill_bank/compile.py` alike.

Each returns an exit code: 0 all is well, 1 refused or invalid, 3 files and bank differ.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.skill_options import difference, print_difference
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.packages.check import check_packages
from agent_evo_dagster.skills.review import notable
from agent_evo_dagster.skills.size import size_of
from agent_evo_dagster.skills.squash import squash
from agent_evo_dagster.skills.status import SkillState, states
from agent_evo_dagster.skills.types import CompiledSkill
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.writing import planned_writes, write_skills

NOT_CURRENT = 3
_COLOURS = {"current": "green", "stale": "yellow", "missing": "yellow", "edited": "magenta", "invalid": "red"}


@dataclass(frozen=True)
class Selection:
    """The skills that a command line asks for: one, a group, or all."""

    skill: str | None = None
    group: str | None = None
    everything: bool = False
    profile: str | None = None

    def names(self, bank: SkillBank) -> list[str]:
        """Their names.

        Raises:
            SkillBankError: none or more than one of skill, group and all was asked for, or an unknown group.
        """
        if [self.skill is not None, self.group is not None, self.everything].count(True) != 1:
            raise SkillBankError("say which skills: give one skill's name, or --group, or --all.")
        if self.skill is not None:
            return [bank.ref(self.skill).name]
        names = [ref.name for ref in bank.skills() if self.everything or ref.group == self.group]
        if not self.everything and self.group not in bank.file.groups:
            raise SkillBankError(
                f"no group {self.group!r} in this bank; it has: {', '.join(bank.file.groups)}."
            )
        return names


def compile_selected(bank: SkillBank, chosen: Selection, *, dry_run: bool, as_json: bool = False) -> int:
    """Compile and write what was selected, and say what changed."""
    names = chosen.names(bank)
    if dry_run:
        planned, writes = planned_writes(bank, names, profile=chosen.profile)
        compiled = list(planned)
        paths = [write.path for write in writes if write.root == "project"]
    else:
        report = write_skills(bank, names, profile=chosen.profile)
        compiled = list(report.compiled)
        outputs = [path for path in report.written if not path.is_relative_to(bank.path)]
        paths = [path.relative_to(bank.project).as_posix() for path in outputs]
    warnings = [f"{skill.name}: {warning}" for skill in compiled for warning in size_of(skill.text).warnings]
    if as_json:
        fields = {"skills": names, "dry_run": dry_run, "written": paths, "warnings": warnings}
        typer.echo(json.dumps(fields))
        return 0
    console = Console(soft_wrap=True)
    for path in paths:
        console.print(Text(f"{'would write' if dry_run else 'wrote'} {path}"))
    if not paths:
        console.print(f"{len(names)} skills are current; nothing to write")
    _print_lines("warning", warnings, "yellow")
    return 0


def show_diff(bank: SkillBank, chosen: Selection, *, as_json: bool = False) -> int:
    """Show what compiling would change, and what of it a reviewer must not miss."""
    rows = []
    console = Console(soft_wrap=True)
    for compiled in compile_many(bank, chosen.names(bank), profile=chosen.profile):
        held = _held(compiled)
        label = bank.ref(compiled.name).output
        old, new = f"{label} (on disk)", f"{label} (bank)"
        notes = notable(held, compiled.text)
        changed = held != compiled.text
        lines = [visible(line) for line in difference(held, compiled.text, old, new)]
        rows.append({"skill": compiled.name, "changed": changed, "diff": lines, "notable": notes})
        if not as_json and changed:
            print_difference(console, held, compiled.text, old, new)
            _print_lines("look", notes, "bold yellow")
    different = any(row["changed"] for row in rows)
    if as_json:
        typer.echo(json.dumps({"changed": different, "skills": rows}))
    elif not different:
        console.print("no difference")
    return NOT_CURRENT if different else 0


def show_states(bank: SkillBank, *, profile: str | None = None, as_json: bool = False) -> int:
    """Show all skills, how their files compare with the bank, and how long they are."""
    found = states(bank, profile=profile)
    current = all(item.state == "current" for item in found)
    if as_json:
        typer.echo(json.dumps({"current": current, "skills": [_state_fields(item) for item in found]}))
        return 0 if current else NOT_CURRENT
    rows: list[list[str | Text]] = []
    for item in found:
        word = f"{item.state} ({item.profile})" if item.profile else item.state
        size = ("", "") if item.size is None else (f"{item.size.tokens:,}", f"{item.size.lines:,}")
        state = Text(word, style=_COLOURS[item.state])
        rows.append([item.group, item.name, state, str(item.patches), *size, Text(item.output)])
    names = ("group", "skill", "state", "patches", "tokens", "lines", "output")
    show_rows(screen(), names, rows, folded=("output",))
    _print_lines("problem", [item.problem for item in found if item.problem], "red")
    _print_lines(
        "warning", [f"{item.name}: {warning}" for item in found for warning in _warnings(item)], "yellow"
    )
    return 0 if current else NOT_CURRENT


def show_problems(bank: SkillBank, *, as_json: bool = False) -> int:
    """Show what keeps skills from being compiled, what is above guidance, and which packages were changed."""
    found, packages = validate(bank), check_packages(bank.path)
    bad = bool(found.problems or packages.problems)
    if as_json:
        fields = {"valid": not bad, "problems": found.problems, "warnings": found.warnings}
        typer.echo(json.dumps({**fields, "packages": dataclasses.asdict(packages)}))
    else:
        _print_lines("problem", packages.problems, "red")
        _print_lines("warning", packages.warnings, "yellow")
        _print_lines("problem", [line for lines in found.problems.values() for line in lines], "red")
        _print_lines("warning", [line for lines in found.warnings.values() for line in lines], "yellow")
        if not found.problems:
            typer.echo(f"{found.skills} skills are valid")
    return 1 if bad else 0


def squash_selected(bank: SkillBank, chosen: Selection, *, dry_run: bool, as_json: bool = False) -> int:
    """Make the active patches part of the bases, or say what would be."""
    report = squash(bank, chosen.names(bank), dry_run=dry_run)
    if as_json:
        rows = [
            {"skill": item.after.name, "sha256": item.after.sha256, "archived": list(item.archived)}
            for item in report.squashed
        ]
        typer.echo(json.dumps({"dry_run": dry_run, "squashed": rows}))
        return 0
    console = Console(soft_wrap=True)
    for item in report.squashed:
        label = f"{item.after.group}/{item.after.name}/base.md"
        if dry_run:
            print_difference(console, item.before.base, item.after.base, label, f"{label} (squashed)")
        verb = "would archive" if dry_run else "archived"
        same = f"SKILL.md stays {item.after.sha256[:12]}"
        console.print(Text(f"{verb} {len(item.archived)} patches of {item.after.name}; {same}"))
    if not report.squashed:
        console.print("no active patches; nothing to squash")
    return 0


def _held(compiled: CompiledSkill) -> str:
    """What the output holds now."""
    return compiled.output.read_bytes().decode(errors="replace") if compiled.output.is_file() else ""


def _state_fields(item: SkillState) -> dict[str, object]:
    return {
        "group": item.group,
        "skill": item.name,
        "state": item.state,
        "profile": item.profile or None,
        "patches": item.patches,
        "tokens": None if item.size is None else item.size.tokens,
        "lines": None if item.size is None else item.size.lines,
        "output": item.output,
        "problem": item.problem or None,
        "warnings": list(_warnings(item)),
    }


def _warnings(item: SkillState) -> tuple[str, ...]:
    return () if item.size is None else item.size.warnings


def _print_lines(label: str, lines: Sequence[str], style: str) -> None:
    """Lines that a person must see, with what is hidden in them made visible."""
    console = Console(soft_wrap=True)
    for line in lines:
        console.print(Text(f"{label}: ", style=style).append(Text(visible(line), style="default")))
