"""What the commands on skills share: which bank they open, and how they print. No command."""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank

Bank = Annotated[
    Path | None, typer.Option("--bank", help="Folder of the bank; default: the one that rounds use.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]


def opened(path: Path | None) -> SkillBank:
    """The bank that was asked for, the one that the environment names, or that of the checkout."""
    if path is not None:
        return SkillBank.open(path)
    named = not {"AGENT_EVO_BANK", "AGENT_EVO_HOME"}.isdisjoint(os.environ)
    return SkillBank.open((Settings() if named else settings_of(project_root())).bank_path)


def print_difference(console: Console, before: str, after: str, old: str, new: str) -> None:
    """A coloured unified diff of two texts, with every hidden character made visible."""
    for line in difference(before, after, old, new):
        console.print(Text(visible(line), style=_style(line)))


def difference(before: str, after: str, old: str, new: str) -> Iterator[str]:
    """The lines of a unified diff of two texts, called `old` and `new`."""
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), old, new, lineterm="")
    return (line.rstrip("\r") for line in lines)


def _style(line: str) -> str:
    """The colour of one line of a unified diff."""
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
