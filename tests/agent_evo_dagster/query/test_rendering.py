"""Rows as tables, JSON and CSV, and the page that documents the views."""

import csv
import io
import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.query.meanings import MEANINGS
from agent_evo_dagster.query.rendering import as_csv, as_json, as_table, distinct, schema_page
from agent_evo_dagster.query.store import QueryError, Rows
from agent_evo_dagster.query.views import VIEWS

ROOT = Path(__file__).parents[3]
FOUND = Rows(
    ("name", "n", "list"),
    [("a,\n\x1b[31m" + "x" * 80, 1, ["é"]), (None, 20, [])],
)


def test_a_table_is_aligned_cut_and_safe_to_print() -> None:
    head, rule, first, second, count = as_table(FOUND).splitlines()
    assert head.split() == ["name", "n", "list"] and set(rule) == {"-", " "}
    assert r"a,\n\x1b[31mxxx" in first and "…" in first and len(first) < 80
    assert second.split() == ["20", "[]"]
    assert count == "(2 rows)"


def test_a_query_without_rows_still_shows_its_columns() -> None:
    assert as_table(Rows(("a", "b"), [])) == "a  b\n-  -\n(0 rows)"
    assert as_json(Rows(("a",), [])) == "[]"
    assert as_csv(Rows(("a",), [])) == "a"


def test_json_holds_what_was_found() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    row = json.loads(as_json(Rows(("t", "f", "l", "m"), [(moment, math.nan, [1, None], {"a": math.inf})])))
    assert row == [{"t": "2026-01-02T00:00:00+00:00", "f": None, "l": [1, None], "m": {"a": None}}]


def test_csv_reads_back() -> None:
    head, first, second = csv.reader(io.StringIO(as_csv(FOUND)))
    assert head == ["name", "n", "list"]
    assert first[0] == FOUND.rows[0][0] and first[1:] == ["1", '["é"]']
    assert second == ["", "20", "[]"]


def test_every_column_has_a_meaning_and_every_meaning_a_column() -> None:
    used = {(view.name, name) for view in VIEWS for name in view.columns}
    names = {f"{view}.{name}" for view, name in used} | {name for _, name in used}
    assert set(MEANINGS) <= names
    assert {name for _, name in used} <= set(MEANINGS)


def test_the_page_on_queries_has_the_views_as_they_are() -> None:
    page = (ROOT / "docs" / "query.md").read_text(encoding="utf-8")
    assert page.endswith(schema_page()), "docs/query.md: replace its end by the output of agent-evo query"


@pytest.fixture
def home(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = warehouse.parent / "home"
    target.mkdir()
    warehouse.rename(target / "warehouse")
    monkeypatch.setenv("AGENT_EVO_HOME", str(target))
    return target


def test_the_command_answers_in_three_forms_and_lists_the_views(home: Path) -> None:
    def say(*words: str) -> str:
        result = CliRunner().invoke(app, ["query", *words])
        assert result.exit_code == 0, result.output
        return result.output

    sql = "SELECT session_id, calls FROM sessions ORDER BY session_id"
    assert say(sql).splitlines()[2].split() == ["s1", "3"]
    assert json.loads(say(sql, "--json"))[1] == {"session_id": "s2", "calls": 1}
    assert say(sql, "--csv") == "session_id,calls\ns1,3\ns2,1\n"
    assert say() == schema_page()
    assert CliRunner().invoke(app, ["query", sql, "--csv", "--json"]).exit_code == 1


def test_columns_of_one_name_are_all_there_and_told_apart(home: Path) -> None:
    assert distinct(("n", "n", "n_2", "n", "m")) == ("n", "n_3", "n_2", "n_4", "m")
    sql = "SELECT session_id, calls, calls FROM sessions WHERE session_id = 's1'"
    result = CliRunner().invoke(app, ["query", sql, "--json"])
    assert json.loads(result.stdout) == [{"session_id": "s1", "calls": 3, "calls_2": 3}]
    assert result.stderr == "Columns of one name were told apart: calls is calls_2.\n"
    assert "told apart" not in CliRunner().invoke(app, ["query", sql, "--csv"]).stderr


def test_a_query_that_takes_too_long_is_ended_and_says_how_to_give_it_more(home: Path) -> None:
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
    began = time.monotonic()
    result = CliRunner().invoke(app, ["query", endless, "--seconds", "0.1"])
    assert time.monotonic() - began < 20
    assert isinstance(result.exception, QueryError)
    assert "longer than 0.1 seconds and was ended" in str(result.exception)
    assert "--seconds 1" in str(result.exception)
