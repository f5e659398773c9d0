"""`agent-evo diagnose`: what the log of a training run shows, whoever ran it; several runs side by side."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent_evo_dagster.analysis.comparison import NamedRun, changed_settings, compare_runs
from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.run_logs.registry import RunLog, read_run_log
from agent_evo_dagster.analysis.series import Ending, read_run
from agent_evo_dagster.analysis.text import excerpt, number, signed
from agent_evo_dagster.analysis.thresholds import Thresholds, load_thresholds
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.unlooked import not_looked_for
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.strict_yaml import read_mapping
from agent_evo_dagster.training.config import TrainingConfig

_NOTHING = pl.DataFrame()
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


@dataclass(frozen=True, slots=True)
class _Diagnosed:
    path: Path
    log: RunLog
    findings: pl.DataFrame
    named: NamedRun


def diagnose(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Logs of runs, or their folders.")],
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="Settings of the run: JSON or YAML by name, or its REQUEST.json."),
    ] = None,
    thresholds: Annotated[
        Path | None, typer.Option("--thresholds", help="A YAML file that overrides the shipped thresholds.")
    ] = None,
    exit_code: Annotated[int | None, typer.Option("--exit-code", help="How the process ended.")] = None,
    to_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Find failure patterns in metrics of TRL, verl or TensorBoard; with several runs, compare them."""
    table = load_thresholds(thresholds)
    known = _settings(settings, table)
    names = _short_names(paths)
    done = [_diagnose(path, name, known, table, exit_code) for path, name in zip(paths, names, strict=True)]
    if to_json:
        typer.echo(json.dumps(_as_json(done), ensure_ascii=False, allow_nan=False))
        return
    console = screen()
    for one in done:
        _show(one, console)
    if len(done) > 1:
        print_comparison([one.named for one in done], console)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """The paths without the folders that all of them lie in."""
    if len(paths) == 1:
        return [str(paths[0])]
    whole = [path.absolute() for path in paths]
    shared = Path(os.path.commonpath(whole))
    return [str(path.relative_to(shared)) for path in whole]


def _diagnose(
    path: Path, name: str, settings: Mapping[str, float | int | str], table: Thresholds, exit_code: int | None
) -> _Diagnosed:
    log = read_run_log(path)
    ending = Ending(log.tail, exit_code)
    metrics = log.log.metrics
    found = find_in_training(metrics, _NOTHING, _NOTHING, settings, ending=ending, thresholds=table)
    run = read_run(metrics, _NOTHING, _NOTHING, settings, table, ending=ending)
    return _Diagnosed(path, log, found, NamedRun(name, run, tuple(found["kind"])))


def _settings(path: Path | None, table: Thresholds) -> dict[str, float | int | str]:
    """The settings in a file: by name, or below `config` as the REQUEST.json of a run has them.

    Raises:
        AnalysisError: the file cannot be read, or none of its names is a setting of a training.
    """
    if path is None:
        return {}
    told = read_mapping(path, error=AnalysisError, origin=f"The file of settings {path}")
    below = told.get("config")
    named = {str(name): value for name, value in below.items()} if isinstance(below, dict) else told
    known = {*TrainingConfig.model_fields, *_moved_settings(table)}
    if not known & named.keys():
        found = excerpt(", ".join(named), 200) or "nothing"
        raise AnalysisError(
            f"The file of settings {path} was given, and none of its names is a setting of a training, such "
            f"as learning_rate (found: {found}). Give a mapping of settings, flat or below `config`, as in "
            "the REQUEST.json of a run."
        )
    values = {name: _value(value) for name, value in named.items() if isinstance(value, int | float | str)}
    for name in sorted(_moved_settings(table) & named.keys()):
        if named[name] is not None and not isinstance(values.get(name), int | float):
            shown = excerpt(str(named[name]), 60)
            raise AnalysisError(f"The file of settings {path} gives {name} = {shown!r}; give a number.")
    return values


def _moved_settings(table: Thresholds) -> set[str]:
    """The settings that findings can point to, numbers all."""
    sections = (*dict(table).values(), *table.syndromes.values())
    moves = (getattr(section, "move", None) for section in sections)
    return {move.setting for move in moves if move is not None}


def _value(value: float | int | str) -> float | int | str:
    """The value as it is; YAML takes 1e-6 for a text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _show(one: _Diagnosed, console: Console) -> None:
    log = one.log.log
    steps = log.metrics["step"].n_unique()
    told = (
        f"{len(one.log.files)} file(s), {log.source}: {steps} steps, {log.metrics['name'].n_unique()} metrics"
    )
    broken = ", ".join(f"{reason} ({count})" for reason, count in log.broken.items())
    console.print(f"[bold]{escape(str(one.path))}[/bold]: {told}")
    if log.restarts or broken:
        console.print(
            f"  restarts: {log.restarts}; could not be read: {broken or 'nothing'}", highlight=False
        )
    if one.findings.is_empty():
        console.print("  no pattern of trouble found")
    for row in one.findings.iter_rows(named=True):
        colour, look = _COLOURS[row["severity"]], ", ".join(json.loads(row["data"])["look_at"])
        console.print(f"  [{colour}]{row['severity']}[/{colour}] {escape(row['kind'])}: ", end="")
        console.print(escape(one_line(row["summary"])), highlight=False)
        hint = json.loads(row["hint"]) if row["hint"] else None
        move = (
            f"{hint['direction']} {hint['setting']} by a factor of {number(hint['factor'])}; " if hint else ""
        )
        console.print(f"    {escape(move)}look at: {escape(look)}", highlight=False)
    _show_unlooked(not_looked_for(one.named.run), console)


def _show_unlooked(missing: Mapping[str, Sequence[str]], console: Console) -> None:
    """Which patterns nothing is said of: that none was found does not mean that there is none."""
    if not missing:
        return
    console.print("  could not be looked for:", highlight=False)
    by_words: dict[str, list[str]] = {}
    for pattern, words in missing.items():
        by_words.setdefault("; ".join(words), []).append(pattern)
    for told, patterns in by_words.items():
        console.print(f"    {', '.join(patterns)}: {escape(told)}", highlight=False)


def print_comparison(runs: Sequence[NamedRun], console: Console) -> None:
    """Print how each metric moved in each run, from start to end, then the settings that differ."""
    frame = compare_runs(runs)
    table = Table("Metric", *(escape(run.name) for run in runs))
    for metric in dict.fromkeys(frame["metric"]):
        rows = {row["run"]: row for row in frame.filter(pl.col("metric") == metric).iter_rows(named=True)}
        table.add_row(metric, *(_moved(rows.get(run.name)) for run in runs))
    console.print(table)
    for name, told in changed_settings(runs).items():
        values = ", ".join(f"{run}: {value}" for run, value in told.items())
        console.print(f"{escape(name)} differs: {escape(one_line(values))}", highlight=False)
    for run in runs:
        kinds = ", ".join(dict.fromkeys(run.kinds)) or "none"
        console.print(f"findings of {escape(run.name)}: {escape(kinds)}", highlight=False)


def _moved(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "not logged"
    broken = f", {row['not_finite']} not finite" if row["not_finite"] else ""
    change = f" ({signed(row['change_per_10'], 3)} per 10)" if row["change_per_10"] is not None else ""
    return f"{number(row['start'])} -> {number(row['end'])}{change}{broken}"


def _as_json(done: Sequence[_Diagnosed]) -> dict[str, object]:
    return {
        "runs": [
            {
                "path": str(one.path),
                "source": one.log.log.source,
                "files": [str(file) for file in one.log.files],
                "steps": one.log.log.metrics["step"].n_unique(),
                "restarts": one.log.log.restarts,
                "broken": one.log.log.broken,
                "not_looked_for": not_looked_for(one.named.run),
                "findings": [
                    {**row, "data": json.loads(row["data"]), "hint": row["hint"] and json.loads(row["hint"])}
                    for row in one.findings.iter_rows(named=True)
                ],
            }
            for one in done
        ],
        "comparison": compare_runs(one.named for one in done).to_dicts(),
        "settings_that_differ": changed_settings(one.named for one in done),
    }
