"""Metadata as people and machines read it: finite numbers, bounded tables, nothing that becomes markup."""

import json
import math

import dagster as dg
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.presentation import check, counts, diff, numbers, picture, table
from assets.schema import length_problems, schema_problems


@given(
    st.dictionaries(st.text(min_size=1, max_size=20), st.none() | st.integers(-(2**62), 2**62) | st.floats())
)
def test_numbers_are_json_whatever_they_were(values):
    shown = {name: value.value for name, value in numbers(values).items()}
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


@pytest.mark.parametrize(
    ("value", "flag"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (None, "missing")]
)
def test_what_is_no_number_is_null_beside_a_flag(value, flag):
    shown = numbers({"loss": value})
    assert shown == {
        "loss": dg.MetadataValue.null(),
        "loss_not_finite": dg.MetadataValue.text(flag),
    }


def test_whole_numbers_stay_whole():
    assert numbers({"rows": 3, "share": 0.5}) == {
        "rows": dg.MetadataValue.int(3),
        "share": dg.MetadataValue.float(0.5),
    }


def test_a_table_has_the_first_rows_with_typed_columns():
    frame = pl.DataFrame(
        {"n": [1, 2, 3], "x": [0.5, math.nan, None], "s": [["a", "b"], [], None], "b": [True] * 3}
    )
    shown = table(frame, ["n", "x", "s", "b"], limit=2)
    assert [record.data for record in shown.records] == [
        {"n": 1, "x": 0.5, "s": "a, b", "b": True},
        {"n": 2, "x": None, "s": "", "b": True},
    ]
    assert [(column.name, column.type) for column in shown.schema.columns] == [
        ("n", "int"),
        ("x", "float"),
        ("s", "string"),
        ("b", "bool"),
    ]


def test_counts_come_most_frequent_first_and_break_no_table():
    frame = pl.DataFrame({"tool": ["a|b", "a|b", "c\nd", None]})
    lines = counts(frame, "tool").md_str.splitlines()
    assert lines[:3] == ["| tool | rows |", "|---|---|", "| a\\|b | 2 |"]
    assert len(lines) == 5


def test_what_is_empty_says_so():
    assert counts(pl.DataFrame({"tool": []}), "tool").md_str == "none"
    assert diff("").md_str == "no change"


def test_figures_have_as_many_digits_as_a_person_reads():
    assert numbers({"seconds": 24.16856384700077})["seconds"].value == 24.1686
    cells = table(pl.DataFrame({"x": [0.39563655853271484, 2e-05]}), ["x"]).records
    assert [record.data["x"] for record in cells] == [0.3956, 2e-05]


def test_text_of_sessions_becomes_no_markup_in_counts():
    frame = pl.DataFrame({"tool": ["<img src=x onerror=alert(1)>", "[click](javascript:alert(1))", "`x`"]})
    text = counts(frame, "tool").md_str
    assert "<img" not in text
    assert "[click](" not in text


def test_a_diff_cannot_leave_its_fence():
    shown = diff("+````\n+<script>\n+`````").md_str.splitlines()
    assert shown[0] == "``````diff"
    assert shown[-1] == "``````"
    assert "``````" not in shown[1:-1]


def test_a_picture_carries_its_bytes():
    assert picture(b"\x89PNG", "a plot") == "![a plot](data:image/png;base64,iVBORw==)"


def test_a_check_passes_without_problems_and_lists_those_there_are():
    assert check("c", []).passed
    failed = check("c", [f"p{number}" for number in range(50)])
    assert not failed.passed
    assert failed.severity is dg.AssetCheckSeverity.ERROR
    assert failed.metadata["problems"].value == 50
    assert failed.description == "p0; p1; p2; and 47 more"
    assert check("c", ["p"], warn=True).severity is dg.AssetCheckSeverity.WARN


SCHEMA = pl.Schema({"id": pl.String, "n": pl.Int64})


def test_a_frame_of_the_schema_has_no_problems():
    assert schema_problems(pl.DataFrame({"id": ["a"], "n": [1]}), SCHEMA, unique="id") == []


def test_every_difference_from_the_schema_is_named():
    frame = pl.DataFrame({"id": ["a", "a", None], "extra": [1, 2, 3]})
    assert schema_problems(frame, SCHEMA, unique="id") == [
        "column n is missing",
        "column extra is not in the schema",
        "id a occurs more than once",
        "id is null in 1 rows",
    ]
    assert schema_problems(pl.DataFrame({"id": ["a"], "n": ["1"]}), SCHEMA) == [
        "column n is String, the schema says Int64"
    ]


def test_lists_of_different_lengths_are_named_by_row():
    frame = pl.DataFrame({"a": [[1], [1, 2]], "b": [[1], [1]]})
    assert length_problems(frame, ["a", "b"]) == ["row 1: the lists a, b differ in length"]


def test_a_missing_list_is_a_problem_too():
    frame = pl.DataFrame({"a": [[1], None], "b": [[1], [1]]})
    assert length_problems(frame, ["a", "b"]) == ["row 1: the lists a, b differ in length"]
