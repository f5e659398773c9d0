"""What the commands on packages print, for `agent-evo` and for `skill_bank/compile.py` alike.

Each returns an exit code: 0 all is well, 1 damaged, or evidence is missing.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.packages.check import Checked, check_packages, smoke_test
from agent_evo_dagster.skills.packages.evidence import Review
from agent_evo_dagster.skills.packages.frozen import Frozen
from agent_evo_dagster.skills.packages.ids import PackageId, parse_id
from agent_evo_dagster.skills.packages.registry import Registry, Switch, read_registry
from agent_evo_dagster.skills.packages.release import Released


def list_packages(bank: SkillBank, *, as_json: bool = False) -> int:
    """Show every package, what it comes from, and what is current."""
    registry = read_registry(bank.path)
    if as_json:
        _print_json(registry.model_dump(mode="json"))
        return 0
    if not registry.packages:
        typer.echo("no packages yet. Freeze the bank: agent-evo skills packages freeze stable NAME")
        return 0
    names = (Column(name, overflow="fold") for name in ("package", "from"))
    table = Table(*names, Column("hash", min_width=12), Column("", min_width=7))
    current = set(registry.current.values())
    for name, entry in registry.packages.items():
        mark = Text("current", style="green") if name in current else ""
        table.add_row(name, entry.parent or "", entry.sha256[:12], mark)
    screen().print(table)
    return 0


def show_history(registry: Registry) -> None:
    """Print every switch, the oldest first."""
    names = ("at", "slot", "what", "before", "after", "by", "reason")
    table = Table(*(Column(name, overflow="fold") for name in names))
    for switch in registry.history:
        told = (switch.slot, switch.action, switch.before or "nothing", switch.after or "nothing")
        table.add_row(f"{switch.at:%Y-%m-%d %H:%M}", *told, _plain(switch.by), _plain(switch.reason))
    screen().print(table)


def show_review(package: PackageId, review: Review, *, as_json: bool = False) -> int:
    """Show what speaks for a package and what is missing; 1 where something is."""
    if as_json:
        _print_json({"package": str(package), "ready": not review.missing, **dataclasses.asdict(review)})
        return 1 if review.missing else 0
    console = Console(soft_wrap=True)
    if review.patches:
        console.print(_evidence(review))
    else:
        console.print(f"{package} has no patches")
    if review.changed:
        console.print(Text(f"differs from its parent in: {', '.join(review.changed)}"))
    _print_lines("missing", review.missing, "red")
    if not review.missing:
        console.print(Text(f"{package}: no evidence is missing", style="green"))
    return 1 if review.missing else 0


def tell_release(bank: SkillBank, done: Released, *, dry_run: bool, as_json: bool = False) -> int:
    """Say what was frozen, or would be."""
    if as_json:
        _print_json(
            {
                "package": str(done.package),
                "path": _relative(bank, done.path),
                "parent": done.parent,
                "slot": done.current,
                "before": done.before,
                "changed": list(done.review.changed),
                "missing": list(done.review.missing),
                "dry_run": dry_run,
            }
        )
        return 0
    console = Console(soft_wrap=True)
    verb = "would freeze" if dry_run else "froze"
    origin = f", from {done.parent}" if done.parent else ""
    console.print(Text(f"{verb} {done.package}{origin}"))
    if done.current is not None:
        verb = "would become" if dry_run else "is now"
        console.print(
            Text(f"{done.package} {verb} current for {done.current}; before: {done.before or 'nothing'}")
        )
    else:
        _print_lines("missing for promotion", done.review.missing, "yellow")
    return 0


def tell_switch(switch: Switch | None, slot: str, *, dry_run: bool, as_json: bool = False) -> int:
    """Say what is current from now on."""
    if as_json:
        fields = None if switch is None else switch.model_dump(mode="json")
        _print_json({"slot": slot, "switch": fields, "dry_run": dry_run})
        return 0
    console = Console(soft_wrap=True)
    if switch is None:
        console.print(Text(f"{slot} has it already; nothing to do"))
        return 0
    verb = "would be" if dry_run else "is"
    console.print(
        Text(f"{slot}: {switch.after or 'nothing'} {verb} current; before: {switch.before or 'nothing'}")
    )
    if not dry_run:
        console.print(Text(f"undo: agent-evo skills packages rollback {slot} --by NAME --reason TEXT"))
    return 0


def tell_frozen(
    bank: SkillBank, package: PackageId, frozen: Frozen, *, dry_run: bool, as_json: bool = False
) -> int:
    """Say which package of rounds there is now."""
    if as_json:
        path = _relative(bank, frozen.path)
        fields = {"package": str(package), "path": path, "files": len(frozen.package.files)}
        _print_json({**fields, "made": frozen.made, "dry_run": dry_run})
        return 0
    verb = "would freeze" if dry_run else "froze"
    told = f"{verb} {package}: {len(frozen.package.files)} files"
    typer.echo(told if frozen.made else f"{package} has exactly this content already")
    return 0


def show_checked(bank: SkillBank, *, as_json: bool = False) -> int:
    """Show everything that is wrong with the registry and its packages."""
    found = check_packages(bank.path)
    if as_json:
        _print_json(dataclasses.asdict(found))
    else:
        print_checked(found)
    return 1 if found.problems else 0


def print_checked(found: Checked) -> None:
    """The problems and warnings of packages, and how many are whole where all are."""
    _print_lines("problem", found.problems, "red")
    _print_lines("warning", found.warnings, "yellow")
    if not found.problems:
        typer.echo(f"{found.packages} packages are as they were frozen")


def show_smoke(bank: SkillBank, package: str | None, *, as_json: bool = False) -> int:
    """Show whether packages, all or one, can be used."""
    names = [package] if package is not None else list(read_registry(bank.path).packages)
    found = {name: smoke_test(bank.path, parse_id(name)) for name in names}
    bad = any(found.values())
    if as_json:
        _print_json({"usable": not bad, "packages": found})
        return 1 if bad else 0
    for name, problems in found.items():
        _print_lines("problem", problems, "red")
        if not problems:
            typer.echo(f"{name} is usable")
    if not found:
        typer.echo("no packages yet; nothing to test")
    return 1 if bad else 0


def _evidence(review: Review) -> Table:
    names = ("skill", "round", "gate", "decision", "by", "missing")
    folded = (Column(name, overflow="fold") for name in names)
    table = Table(Column("patch", no_wrap=True, min_width=18), *folded)
    for item in review.patches:
        style = "red" if item.missing else "green"
        table.add_row(
            item.patch,
            item.skill,
            item.round or "by hand",
            item.gate or "not judged",
            item.decision or "none",
            _plain(item.by or ""),
            Text(visible(item.missing) or "nothing", style=style),
        )
    return table


def _relative(bank: SkillBank, path: Path) -> str:
    return path.relative_to(bank.path).as_posix()


def _plain(text: str) -> Text:
    """Text of the record, with what is hidden in it made visible and no markup."""
    return Text(visible(text))


def _print_json(fields: Mapping[str, object]) -> None:
    typer.echo(json.dumps(fields))


def _print_lines(label: str, lines: Sequence[str], style: str) -> None:
    console = Console(soft_wrap=True)
    for line in lines:
        console.print(Text(f"{label}: ", style=style).append(Text(visible(line), style="default")))
