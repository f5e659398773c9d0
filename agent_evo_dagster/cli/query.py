"""`agent-evo query`: one SELECT over everything that rounds stored, or the list of what can be asked."""

from typing import Annotated

import typer

from agent_evo_dagster.cli.project import project_root, settings_of
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.query.rendering import as_csv, as_json, as_table, distinct, schema_page
from agent_evo_dagster.query.store import LONGEST, SECONDS, run_query


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; without it, the views and their columns.")] = "",
    to_json: Annotated[bool, typer.Option("--json", help="One JSON array of objects.")] = False,
    to_csv: Annotated[bool, typer.Option("--csv", help="Comma separated values.")] = False,
    seconds: Annotated[
        float, typer.Option(help=f"Seconds that the query may take, at most {LONGEST:g}.")
    ] = SECONDS,
) -> None:
    """Ask SQL over sessions, calls, skills, findings, patches and decisions of all rounds; reads only."""
    if to_json and to_csv:
        raise SettingsError("--json and --csv were both asked for. Name one.")
    if not sql:
        typer.echo(schema_page(), nl=False)
        return
    found = run_query(settings_of(project_root()).warehouse, sql, seconds=seconds)
    renamed = [
        f"{old} is {new}"
        for old, new in zip(found.columns, distinct(found.columns), strict=True)
        if old != new
    ]
    if renamed and to_json:
        typer.echo(f"Columns of one name were told apart: {', '.join(renamed)}.", err=True)
    render = as_json if to_json else as_csv if to_csv else as_table
    typer.echo(render(found))
