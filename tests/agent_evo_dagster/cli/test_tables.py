"""Tables fit the terminal: aligned where their words have room, else each row line by line, nothing cut."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agent_evo_dagster.cli.tables import show_rows

NAMES = ("patch", "round", "change", "gate")
ID, CHANGE = "p-49852d4bfb677713", "learning_rate: 2e-5 -> 1e-4 in skill_bank/rllm/rllm-config/base.md"
ROWS = [[ID, "round-0001", Text(CHANGE), "reject_unverified"], ["p-1", "round-0002", "none", ""]]


def printed(width: int, rows=ROWS, *, names=NAMES, folded=("change", "gate")) -> list[str]:
    stream = io.StringIO()
    show_rows(Console(file=stream, width=width), names, rows, folded=folded)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [66, 80, 200])
def test_a_table_has_ids_whole_and_folds_what_may_be_broken(width):
    lines = printed(width)
    assert max(map(cell_len, lines)) <= width and lines[0].startswith("┏")
    assert any(ID in line and "round-0001" in line for line in lines)
    assert "…" not in "".join(lines)


@pytest.mark.parametrize("width", [40, 60])
def test_where_there_is_no_room_each_cell_stands_whole_beside_its_name(width):
    assert printed(width) == [
        f"patch   {ID}",
        "round   round-0001",
        f"change  {CHANGE}",
        "gate    reject_unverified",
        "",
        "patch   p-1",
        "round   round-0002",
        "change  none",
        "",
    ]


WORDS = st.text(st.sampled_from("ab-é世 "), max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=3), st.integers(20, 120))
def test_whatever_is_in_it_no_character_is_cut_away(rows, width):
    lines = printed(width, rows, names=("one", "two", "three"), folded=("three",))
    shown = "".join(lines)
    for letter in "b世":
        assert shown.count(letter) == "".join(map("".join, rows)).count(letter)
    if lines[0].startswith("┏"):
        assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("width", [20, 80])
def test_words_in_brackets_are_words_and_only_a_text_has_a_style(width):
    lines = printed(width, [["[draft]", "[/draft]", Text("[red]", style="red"), ":smile: [bold]x"]])
    shown = "\n".join(lines)
    assert all(word in shown for word in ("[draft]", "[/draft]", "[red]", ":smile:", "[bold]x"))
    assert "\x1b" not in shown


def test_where_there_are_no_rows_nothing_is_printed():
    assert printed(80, []) == []
