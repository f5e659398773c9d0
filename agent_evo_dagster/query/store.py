"""The warehouse as a database that can only be read: one SELECT over the views. Not how rows are shown."""

import contextlib
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.query.views import DERIVED, STORED, StoredView

SECONDS: Final = 60.0  # that a query may take, where nothing else is asked
SHORTEST: Final = 0.1  # seconds that may be asked
LONGEST: Final = 86_400.0
_AGAIN: Final = 0.1  # seconds until a query that does not end is interrupted once more
_GLOB: Final = re.compile(r"[*?\[]")
# Whoever reads may not write, load, or look anywhere but in the warehouse, and may not change that.
_CLOSE: Final = (
    "SET TimeZone = 'UTC'",
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class QueryError(AgentEvoError, ValueError):
    """A query that cannot be run."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query found."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def run_query(warehouse: Path, sql: str, *, seconds: float = SECONDS) -> Rows:
    """The rows that one SELECT over the views finds, in `seconds` at most.

    Raises:
        QueryError: nothing is stored, the seconds are out of bounds, the statement is not one SELECT, it
            cannot be run, or takes too long.
    """
    if not SHORTEST <= seconds <= LONGEST:  # nan is in no range
        raise QueryError(
            f"A query was given {seconds:g} seconds. Give it from {SHORTEST:g} to {LONGEST:g}: --seconds."
        )
    if not warehouse.is_dir():
        raise QueryError(
            f"A query was asked for, and no round has stored anything at {warehouse}. "
            "Run one: agent-evo rounds run"
        )
    _check_statement(sql)
    with duckdb.connect(":memory:") as connection:
        try:
            for statement in _opening(warehouse):
                connection.execute(statement)
            with _ended_after(connection, seconds):
                cursor = connection.execute(sql)
                return Rows(tuple(column[0] for column in cursor.description or ()), cursor.fetchall())
        except duckdb.InterruptException as error:
            longer = min(LONGEST, max(1, math.ceil(seconds * 10)))
            more = f", or give it more time: --seconds {longer:g}" if longer > seconds else "."
            raise QueryError(
                f"The query took longer than {seconds:g} seconds and was ended. Ask for less{more}"
            ) from error
        except duckdb.Error as error:
            raise QueryError(
                f"The query cannot be run. {error}\nViews and their columns: agent-evo query"
            ) from error


@contextlib.contextmanager
def _ended_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what the connection does once `seconds` have passed, again and again until it has ended."""
    ended = threading.Event()

    def watch() -> None:
        patience = seconds
        while not ended.wait(patience):
            connection.interrupt()
            patience = _AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def check_text(what: str, text: str) -> None:
    """Refuse what DuckDB cannot read as text: bytes of the command line that are no UTF-8.

    Raises:
        QueryError: `text` is such; `what` names it.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError(
            f"{what} was expected as text in UTF-8, and character {error.start + 1} of "
            f"{text!a} is none. Write it in UTF-8."
        ) from error


def _check_statement(sql: str) -> None:
    check_text("A query", sql)
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(f"The query is not SQL that DuckDB reads. {error}") from error
    kinds = [statement.type for statement in statements]
    if kinds != [duckdb.StatementType.SELECT]:  # EXPLAIN ANALYZE would run what it explains
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        raise QueryError(
            f"One SELECT was expected, and {found} was given. The store is for reading: ask one SELECT "
            "(or WITH, FROM, DESCRIBE, SUMMARIZE) over the views."
        )


def _opening(warehouse: Path) -> Iterator[str]:
    """The statements that make the views, then close everything else."""
    # Both as it is and as a pattern names it: DuckDB checks the pattern, then the files that it stands for.
    yield f"SET allowed_directories = [{literal(str(warehouse))}, {literal(_escaped(warehouse))}]"
    for stored in STORED:
        yield f"CREATE VIEW {stored.name} AS {_stored_sql(warehouse, stored)}"
    for derived in DERIVED:
        yield f"CREATE VIEW {derived.name} AS {derived.sql}"
    yield from _CLOSE


def _stored_sql(warehouse: Path, view: StoredView) -> str:
    """A SELECT over the files of a view; a column that a file lacks is null in its rows."""
    nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in view.columns.items())
    parts = [f"SELECT {nothing} WHERE false"]
    for asset in view.assets:
        if any((warehouse / asset).glob("*.parquet")):
            files = literal(f"{_escaped(warehouse / asset)}/*.parquet")
            parts.append(
                "SELECT *, regexp_extract(filename, '([^/]+)[.]parquet$', 1) AS round "
                f"FROM read_parquet({files}, filename = true, union_by_name = true)"
            )
    columns = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in view.columns.items())
    return f"SELECT {columns} FROM ({' UNION ALL BY NAME '.join(parts)})"


def _escaped(path: Path) -> str:
    return _GLOB.sub(lambda match: f"[{match[0]}]", str(path))


def literal(text: str) -> str:
    """`text` as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
