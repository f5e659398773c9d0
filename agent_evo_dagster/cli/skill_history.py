"""`agent-evo skills patch`, `versions` and `rollback`: a skill's changes by hand, and the way back."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.skill_options import Bank, Json, opened, print_difference
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.errors import AgentEvoError, SkillBankError
from agent_evo_dagster.patches.types import Action
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.skills.handmade import Edit, adopt_by_hand
from agent_evo_dagster.skills.rollback import (
    Rollback,
    RollbackReport,
    is_patch_id,
    roll_back_patch,
    roll_back_skill,
)
from agent_evo_dagster.skills.versions import number_of, versions

_Target = Annotated[
    str, typer.Argument(metavar="SKILL|PATCH", help="A skill, or a patch that is active in one.")
]
_To = Annotated[
    str | None, typer.Option("--to", metavar="VERSION", help="Number or hash of the version, for a skill.")
]
_By = Annotated[str, typer.Option("--by", help="Who decides: your name, as it will stand in the record.")]
_Reason = Annotated[str, typer.Option("--reason", help="Why, for whoever reads the record.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change only.")]


def patch(
    skill: Annotated[str, typer.Argument(help="The skill to edit.")],
    section: Annotated[str, typer.Argument(help="The section to edit.")],
    text: Annotated[
        typer.FileText, typer.Argument(metavar="FILE", help="The text to put there; - reads stdin.")
    ],
    *,
    by: _By,
    reason: _Reason,
    description: Annotated[str, typer.Option("--description", help="What it changes, in a line.")],
    action: Annotated[Action, typer.Option("--action", help="What to do with the text.")] = "append",
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Edit one section by hand, as a patch: approved by you without evidence, on record, and undoable."""
    there = opened(bank)
    now = datetime.now(UTC)
    edit = Edit(skill, section, action, text.read(), description, by, reason, now)
    report = adopt_by_hand(there, edit, dry_run=dry_run)
    if as_json:
        fields = {"patch": report.patch.id, "skill": skill, "dry_run": dry_run, "sha256": report.after.sha256}
        typer.echo(json.dumps(fields))
        return
    console = Console(soft_wrap=True)
    print_difference(
        console, report.before.text, report.after.text, f"{skill} until now", f"{skill}, patched"
    )
    console.print(Text(f"{'would adopt' if dry_run else 'adopted'} {report.patch.id} into {skill}"))
    if not dry_run:
        console.print(Text(f"undo: agent-evo skills rollback {report.patch.id} --by NAME --reason TEXT"))


def list_versions(skill: str, bank: Bank = None, as_json: Json = False) -> None:
    """List the kept versions of a skill: what one can go back to."""
    there = opened(bank)
    ref = there.ref(skill)
    now = _current(there, skill)
    rows = [
        {
            "version": version.number,
            "sha256": version.sha256,
            "current": version.number == now,
            "patches": list(version.recipe.applied),
            "base": version.recipe.base,
        }
        for version in versions(there, ref)
    ]
    if as_json:
        typer.echo(json.dumps({"skill": skill, "versions": rows}))
        return
    shown: list[list[str | Text]] = []
    for row, version in zip(rows, versions(there, ref), strict=True):
        mark = Text("current", style="green") if row["current"] else ""
        recipe = version.recipe
        hashes = version.sha256[:12], str(len(recipe.applied)), recipe.base[:12]
        shown.append([str(version.number), *hashes, mark])
    show_rows(screen(), ("version", "hash", "patches", "base", ""), shown)


def rollback(
    target: _Target,
    *,
    by: _By,
    reason: _Reason,
    to: _To = None,
    dry_run: _DryRun = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Bring a skill back to a kept version, or take one patch out of it. On record, and undoable."""
    there = opened(bank)
    asked = Rollback(by, reason, datetime.now(UTC), dry_run)
    named = any(ref.name == target for ref in there.skills())
    if is_patch_id(target) and not named:
        if to is not None:
            raise SkillBankError(f"{target} is a patch and is taken out whole; --to is for a skill.")
        report = roll_back_patch(there, target, asked)
    else:
        there.ref(target)
        if to is None:
            raise SkillBankError(
                f"say to which version of {target}: --to VERSION. See agent-evo skills versions {target}."
            )
        report = roll_back_skill(there, target, to, asked)
    _tell(report, as_json=as_json, dry_run=dry_run)


def _current(bank: SkillBank, skill: str) -> int | None:
    """The version that the bank compiles to; None where it does not compile or was never written."""
    try:
        return number_of(bank, compile_skill(bank, skill))
    except AgentEvoError:
        return None


def _tell(report: RollbackReport, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_fields(report, dry_run=dry_run)))
        return
    console = Console(soft_wrap=True)
    now = f"version {report.to_version or 'new'} ({report.after.sha256[:12]})"
    if not report.changed:
        console.print(Text(f"{report.skill} is at {now} already; nothing to do"))
        return
    before = "" if report.before is None else report.before.text
    print_difference(
        console, before, report.after.text, f"{report.skill} until now", f"{report.skill}, {now}"
    )
    console.print(Text(f"{'would bring' if dry_run else 'brought'} {report.skill} to {now}"))
    for verb, names in (("out", report.removed), ("in again", report.restored)):
        for name in names:
            console.print(Text(f"{verb}: {name}"))
    if not dry_run and report.from_version is not None:
        undo = f"agent-evo skills rollback {report.skill} --to {report.from_version} --by NAME --reason TEXT"
        console.print(Text(f"undo: {undo}"))


def _fields(report: RollbackReport, *, dry_run: bool) -> dict[str, object]:
    return {
        "skill": report.skill,
        "changed": report.changed,
        "dry_run": dry_run,
        "from": {"version": report.from_version, "sha256": report.before.sha256 if report.before else None},
        "to": {"version": report.to_version, "sha256": report.after.sha256},
        "removed": list(report.removed),
        "restored": list(report.restored),
        "written": [str(path) for path in report.written],
    }
