"""`agent-evo rounds watch`: how far a round is, while another process runs it."""

import dataclasses
import json
import time
from typing import Annotated

import typer

from agent_evo_dagster.analysis.display import one_line, visible
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.rounds.progress import Progress, log_tail, progress_of

NOT_WELL = 3
_ENDED = ("complete", "waiting")
_TAIL = 12  # lines of the log of a job that failed


def watch(
    key: Annotated[str, typer.Argument(help="Round, such as round-0001.")],
    *,
    once: Annotated[bool, typer.Option("--once", help="Look once instead of until its end.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.1, max=86_400, help="Seconds between two looks.")
    ] = 5.0,
    patience: Annotated[
        float, typer.Option("--patience", min=0, help="Seconds without any work until it gives up.")
    ] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Tell job, step and metrics of a round, a line a change; exit 3 if it failed or nobody runs it."""
    settings, said, worked = current_settings(), "", time.monotonic()
    while True:
        seen = progress_of(settings, key, now=time.time())
        news = f"{_without_silence(seen)}{len(seen.signs)}"
        if news != said:
            typer.echo(_as_json(seen) if as_json else _line(seen))
            said = news
        if seen.state == "failed":
            _tell_failure(seen)
            raise typer.Exit(NOT_WELL)
        if once or seen.state in _ENDED:
            return
        worked = time.monotonic() if seen.state == "running" else worked
        if time.monotonic() - worked > patience:
            typer.echo(
                f"nothing was at work on {key} for {patience:g} s; run it: agent-evo rounds run {key}",
                err=True,
            )
            raise typer.Exit(NOT_WELL)
        time.sleep(every)


def _line(seen: Progress) -> str:
    silent = "" if seen.silent is None else f", {seen.silent:.0f} s ago"
    return f"{_without_silence(seen)}{silent}{''.join(f'; LOOK: {sign}' for sign in seen.signs)}"


def _without_silence(seen: Progress) -> str:
    """The line but for the time since the last sign of life, which changes without news."""
    of = "" if seen.steps is None else f" of {seen.steps}"
    step = "" if not seen.step else f", step {seen.step}{of}"
    job = "" if seen.job is None else f" {seen.job}: {seen.phase or 'starting'}{step}"
    values = [f"{name} {'NaN' if value is None else f'{value:.4g}'}" for name, value in seen.metrics.items()]
    return f"{seen.key} {seen.state}{job}" + (f"; {', '.join(values)}" if values else "")


def _as_json(seen: Progress) -> str:
    fields = {**dataclasses.asdict(seen), "log": str(seen.log) if seen.log else None}
    return json.dumps({**fields, "signs": seen.signs})


def _tell_failure(seen: Progress) -> None:
    if seen.log is not None:
        for line in log_tail(seen.log, _TAIL):
            typer.echo(f"  | {visible(line)}", err=True)
    log = f" Its log is {seen.log}." if seen.log else ""
    typer.echo(
        f"{seen.key} {one_line(seen.failure or 'failed')}.{log} "
        f"Mend what it names, then go on: agent-evo rounds run {seen.key}",
        err=True,
    )
