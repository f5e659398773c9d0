"""`agent-evo evidence`: what the ids stand for that findings, reports and patches name."""

from typing import Annotated

import typer
from rich.console import Console

from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.telling import plain
from agent_evo_dagster.query.rendering import told
from agent_evo_dagster.query.tracing import Traced, trace

_WIDTH = 11  # characters of the names beside what is told


def evidence(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Each by itself or its beginning.")],
    characters: Annotated[int, typer.Option(min=20, help="Characters of each text that are shown.")] = 400,
) -> None:
    """Show the finding, segment, step, event or session that each id stands for; exit 1 where none does."""
    console = Console(soft_wrap=True)
    found = trace(current_settings().warehouse, ids)
    for several in found.values():
        for traced in several.shown:
            _show(console, traced, characters)
    for one, several in found.items():
        if several.left_out:
            note = plain(
                f"{one} stands for {several.left_out} more, which are not shown. Give more of the id, or "
                "ask: agent-evo query"
            )
            Console(stderr=True, soft_wrap=True).print(note)
    unknown = [one for one, several in found.items() if not several.shown]
    for one in unknown:
        note = plain(
            f"No round has stored anything under {one}. A figure of a training, as reward@0-10, is a metric "
            f'and a range of steps: agent-evo query "SELECT * FROM metrics". A patch: agent-evo patches show'
        )
        Console(stderr=True, soft_wrap=True).print(note)
    raise typer.Exit(1 if unknown else 0)


def _show(console: Console, traced: Traced, characters: int) -> None:
    """One thing: a line that names it, then a line or more for each fact."""
    console.print(plain(f"{traced.kind} {traced.id}  {traced.round}"))
    for name, value in traced.facts:
        first, *rest = told(value, characters).split("\n")
        console.print(plain(f"  {name:<{_WIDTH}} {first}"))
        for line in rest:
            console.print(plain(f"  {'':<{_WIDTH}} {line}"))
    console.print()
