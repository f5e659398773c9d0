"""`agent-evo rounds compare`: how training went in each round, side by side."""

import json
from collections.abc import Sequence
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from agent_evo_dagster.analysis.comparison import NamedRun, changed_settings, compare_runs
from agent_evo_dagster.analysis.series import read_run
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.cli.diagnose import print_comparison
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.telling import screen
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.state import state_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse

_MOST_OF_A_FAILURE = 300  # characters


def compare(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Rounds; all that trained where none is named.")
    ] = None,
    to_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Compare the training of rounds: metrics from start to end, settings that differ, findings."""
    settings = current_settings()
    runs = compared(settings, keys or ())
    if to_json:
        told = {
            "comparison": compare_runs(runs).to_dicts(),
            "settings_that_differ": changed_settings(runs),
            "states": {run.name: state_of(settings, run.name).told for run in runs},
        }
        typer.echo(json.dumps(told, ensure_ascii=False, allow_nan=False))
        return
    print_comparison(runs, screen())
    for run in runs:
        if (state := state_of(settings, run.name)).state not in {"complete", "waiting"}:
            line = f"{run.name} did not come to its end: {excerpt(state.told, _MOST_OF_A_FAILURE)}"
            Console(soft_wrap=True).print(line, markup=False, highlight=False)


def compared(settings: Settings, keys: Sequence[str]) -> list[NamedRun]:
    """The training of rounds by their numbers.

    Raises:
        RoundError: a round that is named has not trained, or none has.
    """
    store, warehouse = RoundStore(settings.rounds), Warehouse(settings.warehouse)
    trained = set(warehouse.rounds(["training_metrics"]))
    opened = store.keys()  # by number
    order = [key for key in opened if key in trained]
    missing = [key for key in keys if key not in order]
    if not order:
        raise RoundError("No round has trained yet, so there is nothing to compare: agent-evo rounds run")
    if missing:
        raise RoundError(f"{', '.join(missing)} has not trained; these have: {', '.join(order)}.")
    return [_run(warehouse, key) for key in order if not keys or key in keys]


def _run(warehouse: Warehouse, key: str) -> NamedRun:
    config = warehouse.read(["training_config"], key).select("name", "value").iter_rows()
    run = read_run(
        warehouse.read(["training_metrics"], key),
        _made(warehouse, "rollout_trajectories", key),
        _made(warehouse, "policy_evaluation", key),
        {name: json.loads(value) for name, value in config},
        load_thresholds(),
    )
    findings = _made(warehouse, "training_findings", key)
    return NamedRun(key, run, tuple(findings["kind"]) if findings.width else ())


def _made(warehouse: Warehouse, asset: str, key: str) -> pl.DataFrame:
    """What the round stored; nothing where it failed before that."""
    return warehouse.read([asset], key) if warehouse.path([asset], key).is_file() else pl.DataFrame()
