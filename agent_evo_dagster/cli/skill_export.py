"""`agent-evo skills export`: compiled skills as a plugin that Claude Code loads."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.project import project_root
from agent_evo_dagster.cli.skill_options import Bank, Json, opened
from agent_evo_dagster.cli.skill_views import Selection
from agent_evo_dagster.skills.compile import compile_many
from agent_evo_dagster.skills.plugin import PluginLabel, export_plugin

_HOOKS = ("hooks.json", "capture.py")


def export(
    skill: Annotated[
        str | None, typer.Argument(help="One skill; without it, and without --group: all.")
    ] = None,
    *,
    plugin: Annotated[Path, typer.Option("--plugin", metavar="FOLDER", help="Folder of the plugin.")],
    group: Annotated[str | None, typer.Option("--group", help="All skills of one group.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name; default: the folder's.")] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Default: one that changes with the content.")
    ] = None,
    author: Annotated[str | None, typer.Option("--author", help="Who answers for it.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is for.")] = None,
    hooks: Annotated[bool, typer.Option("--hooks", help="With the hooks that capture sessions.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written only.")] = False,
    bank: Bank = None,
    as_json: Json = False,
) -> None:
    """Write skills of the bank, compiled, as a Claude Code plugin; files beside a SKILL.md go along."""
    there = opened(bank)
    names = Selection(skill, group, skill is None and group is None).names(there)
    target = plugin.expanduser().absolute()
    root = project_root() / "hooks" if hooks else None
    more = {} if root is None else {f"hooks/{file}": (root / file).read_bytes() for file in _HOOKS}
    label = PluginLabel(name or target.name, version, author, description)
    report = export_plugin(target, compile_many(there, names), label, more=more, dry_run=dry_run)
    if as_json:
        fields = {"plugin": label.name, "version": report.version, "files": report.files}
        typer.echo(json.dumps({**fields, "written": report.written, "dry_run": dry_run}))
        return
    console = Console(soft_wrap=True)
    for path in report.written:
        console.print(Text(f"{'would write' if dry_run else 'wrote'} {plugin / path}"))
    console.print(
        Text(f"plugin {label.name} {report.version}: {len(names)} skills, {len(report.files)} files")
    )
    console.print(Text(f"try it: claude --plugin-dir {shlex.quote(str(plugin))}"))
