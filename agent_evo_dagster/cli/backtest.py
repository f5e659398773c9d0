"""`agent-evo backtest`: whether findings of earlier sessions hold in later ones."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from agent_evo_dagster.analysis.backtest import Backtest, Rate, backtest
from agent_evo_dagster.analysis.backtest_words import conclusions
from agent_evo_dagster.analysis.detectors.registry import detectors
from agent_evo_dagster.analysis.text import fixed
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.slices import available_slices
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.settings import read_settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.trajectories.build import build_trajectories

_KEY = b"backtest" * 4  # placeholders of secrets are compared within one back-test alone
_LABELS: Mapping[str, str] = {
    "coverage": "later failures that an earlier finding had named",
    "trouble_coverage": "later troubles that an earlier finding had named",
    "precision": "earlier findings that occurred again",
    "coverage_at_k": "later failures named by the first {k} findings about failures",
    "baseline_coverage": "later failures named by the {k} commonest errors",
    "coverage_gain": "those {k} findings less those {k} errors",
    "precision_at_k": "the first {k} findings about failures that occurred again",
    "baseline_precision": "the {k} commonest errors that occurred again",
}


def backtest_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Recorded sessions, as for agent-evo import.")],
    split: Annotated[
        float, typer.Option("--split", help="Share of the sessions that findings come from.")
    ] = 0.6,
    k: Annotated[int, typer.Option("--k", min=1, help="Errors that the baseline names.")] = 10,
    bank: Annotated[
        Path | None, typer.Option("--bank", help="Skill bank, for findings that need the skills' texts.")
    ] = None,
    to_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Take findings from earlier sessions and measure on later ones how often they come true."""
    steps, segments = read_recordings(path)
    own = detectors(read_settings().detectors)
    result = backtest(steps, segments, split=split, k=k, skills=_texts(bank), detectors=own)
    if to_json:
        typer.echo(json.dumps(asdict(result), allow_nan=False))
    else:
        show(result, screen())


def read_recordings(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The steps and segments of all sessions at `path`, read through a spool that is thrown away.

    Raises:
        CaptureError: there is nothing at `path` that can be imported.
    """
    with tempfile.TemporaryDirectory(prefix="agent-evo-backtest-") as folder:
        spool = Path(folder)
        import_sessions(path, spool)
        now = datetime.now(UTC)  # all are taken, however lately they were written
        slices = available_slices(spool, [], now=now, quiet=timedelta(0), include_open=True)
        steps = build_trajectories(read_slices(spool, slices, key=_KEY).events)
    return steps, build_segments(steps)


def _texts(bank: Path | None) -> dict[tuple[str, str], str]:
    if bank is None:
        return {}
    opened = SkillBank.open(bank)
    return {
        (ref.name, section): text
        for ref in opened.skills()
        for section, text in opened.sections(ref.name).items()
    }


def show(result: Backtest, console: Console) -> None:
    """Print the rates with their intervals, how each kind of finding held, and what follows."""
    for label, (earlier, later) in {
        "sessions": result.sessions, "tool calls": result.calls, "failed calls": result.failures
    }.items():  # fmt: skip
        console.print(f"{label}: {earlier} earlier, {later} later", highlight=False)
    rates = Table("Share of", "Value", "95 % interval", "Of")
    for name, label in _LABELS.items():
        rates.add_row(label.format(k=result.k), *_shown(getattr(result, name)))
    kinds = Table("Kind", "Earlier findings", "Again", "Later troubles")
    for row in result.kinds:
        kinds.add_row(row.kind, str(row.earlier), str(row.again), str(row.later))
    console.print(rates, kinds)
    console.print("What follows:", highlight=False)
    for sentence in conclusions(result):
        console.print(f"- {sentence}", highlight=False)


def _shown(rate: Rate) -> tuple[str, str, str]:
    if rate.value is None:
        return "n/a", "nothing to measure", "0"
    if rate.low is None or rate.high is None:
        return fixed(rate.value, 3), "too few to tell", str(rate.of)
    return (
        fixed(rate.value, 3),
        f"[{fixed(rate.low, 3)}, {fixed(rate.high, 3)}]".replace("[", "\\["),
        str(rate.of),
    )
