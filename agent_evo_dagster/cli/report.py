"""`agent-evo report`: the report of a round and what became of its patches since, or a page of all rounds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.analysis.all_rounds import render_all_rounds
from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.report import Report, render_report
from agent_evo_dagster.analysis.views.life import STANDINGS, events_by_patch, since, standing
from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.all_rounds import all_rounds_inputs
from agent_evo_dagster.rounds.reporting import stored_inputs, whole_lives
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse


def report(
    key: Annotated[str | None, typer.Argument(help="Round, such as round-0001.")] = None,
    every: Annotated[bool, typer.Option("--all", help="One page over all rounds.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write it there, made anew; *.md for Markdown.",
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the Markdown instead of the paths.")] = False,
) -> None:
    """Show a round's report and what became of its patches since, or put all rounds on one page."""
    if every == (key is not None):
        raise RoundError("Say which report: of one round (agent-evo report round-0001), or of --all rounds.")
    settings = settings_of(project_root())
    if key is None:
        target = output or settings.reports / "index.html"
        _give(render_all_rounds(all_rounds_inputs(settings, target.resolve().parent)), target, text=text)
    elif output is not None:
        _give(render_report(stored_inputs(settings, key)), output, text=text)
    else:
        _made(settings, key, text=text)


def _give(made: Report, target: Path, *, text: bool) -> None:
    """A page that was made just now: as text, or as a file."""
    if text:
        print(made.markdown)
        return
    write_atomic(target, (made.markdown if target.suffix == ".md" else made.html).encode())
    print(target)


def _made(settings: Settings, key: str, *, text: bool) -> None:
    """The report that the round made."""
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
