"""`agent-evo report`: where a round's report is, or its text."""

from typing import Annotated

import typer

from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.store import RoundStore


def report(
    key: Annotated[str, typer.Argument(help="Round, such as round-0001.")],
    text: Annotated[bool, typer.Option("--text", help="Print the Markdown instead of the paths.")] = False,
) -> None:
    """Show where the report of a round is."""
    settings = settings_of(project_root())
    RoundStore(settings.rounds).load(key)
    page = settings.reports / key / "report.html"
    if not page.is_file():
        raise RoundError(f"{key} has no report yet (looked for {page}). Run it: agent-evo rounds run {key}")
    print(page.with_suffix(".md").read_text() if text else f"{page}\n{page.with_suffix('.md')}")
