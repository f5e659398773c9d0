"""`agent-evo evidence`: what the ids stand for that findings, reports and patches name."""

from typing import Annotated

import typer
from rich.console import Console

from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.telling import plain
from agent_evo_dagster.query.pointing import pointed
from agent_evo_dagster.query.rendering import told
from agent_evo_dagster.query.tracing import SHORTEST, Traced, trace

_WIDTH = 11  # characters of the names beside what is told


def evidence(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Each by itself or its beginning.")],
    characters: Annotated[int, typer.Option(min=20, help="Characters of each text that are shown.")] = 400,
) -> None:
    """Show the finding, segment, step, event or session that each id stands for; exit 1 where none does."""
    console = Console(soft_wrap=True)
    pointers = {one: way for one in ids if (way := pointed(one)) is not None}
    wanted = [one for one in ids if one not in pointers or len(one) >= SHORTEST]
    found = trace(current_settings().warehouse, wanted) if wanted else {}
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
    unknown = [one for one in dict.fromkeys(ids) if one not in found or not found[one].shown]
    for one in unknown:
        note = plain(pointers.get(one) or _unknown(one))
        Console(stderr=True, soft_wrap=True).print(note)
    raise typer.Exit(1 if unknown else 0)


def _unknown(one: str) -> str:
    return (
        f"No round has stored anything under {one}. Findings and segments, by their ids: "
        'agent-evo query "SELECT finding_id, kind, summary FROM findings"'
    )


def _show(console: Console, traced: Traced, characters: int) -> None:
    """One thing: a line that names it, then a line or more for each fact."""
    console.print(plain(f"{traced.kind} {traced.id}  {traced.round}"))
    for name, value in traced.facts:
        first, *rest = told(value, characters).split("\n")
        console.print(plain(f"  {name:<{_WIDTH}} {first}"))
        for line in rest:
            console.print(plain(f"  {'':<{_WIDTH}} {line}"))
    console.print()
