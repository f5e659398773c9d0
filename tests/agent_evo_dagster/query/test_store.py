"""The store answers SELECTs over all rounds, and does nothing else whatever it is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_evo_dagster.query.store import QueryError, run_query
from agent_evo_dagster.query.views import VIEWS
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.query.conftest import ROUNDS

COLUMNS = {view.name: dict(view.columns) for view in VIEWS}


def rows(warehouse: Path, sql: str) -> list[tuple[object, ...]]:
    return run_query(warehouse, sql).rows


def test_events_of_all_rounds_are_there_with_their_round(warehouse: Path) -> None:
    found = rows(warehouse, "SELECT round, count(*) FROM events GROUP BY round ORDER BY round")
    assert found == [(key, events.height) for key, events in ROUNDS.items()]


def test_the_index_has_a_row_for_each_session(warehouse: Path) -> None:
    found = run_query(warehouse, "FROM sessions ORDER BY session_id")
    first, second = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
    assert (first["events"], first["agents"], first["prompts"]) == (9, 1, 1)
    assert (first["calls"], first["failures"], first["skills"]) == (3, 1, ["rllm-run"])
    assert (second["round"], second["calls"], second["failures"], second["skills"]) == (
        "round-0010",
        1,
        0,
        [],
    )
    assert (first["last_at"] - first["first_at"]).total_seconds() == 8


def test_calls_know_the_skill_that_they_served(warehouse: Path) -> None:
    found = rows(warehouse, "SELECT tool_name, outcome, skill FROM calls ORDER BY round, started_at")
    assert found == [
        ("Skill", "success", "rllm-run"),
        ("Bash", "success", "rllm-run"),
        ("Bash", "failure", "rllm-run"),
        ("Read", "success", None),
    ]
    assert rows(warehouse, "SELECT skill, sessions, calls, failures FROM skills") == [("rllm-run", 1, 3, 1)]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_view_has_the_documented_columns_with_and_without_data(warehouse: Path, name: str) -> None:
    described = {row[0]: row[1] for row in rows(warehouse, f"DESCRIBE {name}")}
    assert described == COLUMNS[name]
    (warehouse.parent / "empty").mkdir()
    assert rows(warehouse.parent / "empty", f"FROM {name}") == []


def test_a_file_of_before_a_column_was_added_has_nulls_there(warehouse: Path) -> None:
    older = Warehouse(warehouse).read(("segments",), "round-0001").drop("goal")
    Warehouse(warehouse).write(("segments",), "round-0001", older)
    assert rows(warehouse, "SELECT count(*), count(goal) FROM segments WHERE round = 'round-0001'") == [
        (2, 0)
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY events TO '{root}/stolen.csv'",
        "EXPLAIN ANALYZE COPY events TO '{root}/stolen.csv'",
        "EXPORT DATABASE '{root}/stolen'",
        "CREATE TABLE t AS FROM events",
        "DROP VIEW events",
        "ATTACH '{root}/stolen.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "SELECT 1; SELECT 2",
        "-- nothing",
    ],
)
def test_anything_but_one_select_is_refused_and_leaves_no_trace(warehouse: Path, sql: str) -> None:
    before = sorted(warehouse.rglob("*"))
    with pytest.raises(QueryError, match="One SELECT was expected"):
        run_query(warehouse, sql.format(root=str(warehouse).replace("'", "''")))
    assert sorted(warehouse.rglob("*")) == before


@pytest.mark.parametrize(
    "source",
    [
        "read_text('{outside}')",
        "read_csv('{outside}')",
        "glob('{outside}*')",
        "'https://example.com/x.parquet'",
    ],
)
def test_files_outside_of_the_warehouse_cannot_be_read(warehouse: Path, source: str) -> None:
    outside = warehouse.parent / "secret.csv"
    outside.write_text("a,b\n1,2\n")
    with pytest.raises(QueryError, match=r"Permission|operations are disabled"):
        run_query(warehouse, f"FROM {source.format(outside=outside)}")


@pytest.mark.parametrize(
    ("sql", "message"),
    [("SELEC 1", "not SQL"), ("SELECT nothing FROM events", "nothing"), ("FROM nowhere", "nowhere")],
)
def test_a_query_that_cannot_be_run_says_why(warehouse: Path, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        run_query(warehouse, sql)


def test_a_home_without_rounds_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="agent-evo rounds run"):
        run_query(tmp_path / "none", "FROM sessions")


@pytest.fixture
def broken(warehouse: Path) -> Iterator[Path]:
    (warehouse / "segments" / "round-0002.parquet").write_bytes(b"PAR1 torn")
    yield warehouse


def test_a_torn_file_is_an_error_that_names_it(broken: Path) -> None:
    with pytest.raises(QueryError, match=r"round-0002\.parquet"):
        run_query(broken, "FROM segments")


@pytest.mark.parametrize("seconds", [float("inf"), 1e18, float("nan"), 0.0, -1.0])
def test_a_query_has_a_bound_of_a_day_at_most(warehouse: Path, seconds: float) -> None:
    with pytest.raises(QueryError, match=r"Give it from 0\.1 to 86400: --seconds"):
        run_query(warehouse, "SELECT 1", seconds=seconds)
    assert run_query(warehouse, "SELECT 1", seconds=86_400).rows == [(1,)]


def test_a_query_that_is_no_text_is_refused(warehouse: Path) -> None:
    with pytest.raises(QueryError, match=r"A query was expected as text in UTF-8, and character 9 .*udcff"):
        run_query(warehouse, "SELECT '\udcff'")
