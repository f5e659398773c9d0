"""`agent-evo report`: where a round's report is, or its text, and what became of its patches since."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.views.life import STANDINGS, events_by_patch, since, standing
from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.reporting import whole_lives
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse


def report(
    key: Annotated[str, typer.Argument(help="Round, such as round-0001.")],
    text: Annotated[bool, typer.Option("--text", help="Print the Markdown instead of the paths.")] = False,
) -> None:
    """Show where the report of a round is, and what became of its patches since."""
    settings = settings_of(project_root())
    RoundStore(settings.rounds).load(key)
    page = settings.reports / key / "report.html"
    if not page.is_file():
        raise RoundError(f"{key} has no report yet (looked for {page}). Run it: agent-evo rounds run {key}")
    if text:
        print(page.with_suffix(".md").read_text())
        return
    print(f"{page}\n{page.with_suffix('.md')}")
    for line in _standings(settings, key):
        Console(soft_wrap=True).print(Text(one_line(line)))


def _standings(settings: Settings, key: str) -> Iterator[str]:
    """How each patch of the round stands today, and what ended its decision if anything did."""
    warehouse = Warehouse(settings.warehouse)
    if key not in warehouse.rounds(("patch_decisions",)):
        return
    decisions = warehouse.read(("patch_decisions",), key).select("patch_id", "decision")
    ledger, store = ledger_of(settings.bank_path), RoundStore(settings.rounds)
    lived = events_by_patch(whole_lives(ledger, store, warehouse))
    for name, decision in decisions.iter_rows():
        events = lived.get(name, [])
        told = since(decision, events)
        yield f"{name}: {STANDINGS[standing(decision, events)]}{f'; {told}' if told else ''}"
