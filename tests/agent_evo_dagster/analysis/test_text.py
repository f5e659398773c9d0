import math

import pytest

from agent_evo_dagster.analysis.text import duration, excerpt, fixed, number, plural, signed, times


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2e-5, "2e-5"),
        (0.0001, "1e-4"),
        (1.5e-6, "1.5e-6"),
        (0.28, "0.28"),
        (10, "10"),
        (0, "0"),
        (120345, "120,345"),
        (None, "n/a"),
        (math.nan, "n/a"),
        ("dapo", "dapo"),
    ],
)
def test_numbers_are_short(value, shown):
    assert number(value) == shown


def test_figures_have_fixed_decimals():
    assert (fixed(0.5), fixed(None), signed(0.125), signed(math.inf)) == ("0.50", "n/a", "+0.12", "n/a")


def test_an_excerpt_is_one_line_and_says_where_it_was_cut():
    assert excerpt("a\n b\x00c") == "a b c"
    assert excerpt("x" * 200, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(("seconds", "shown"), [(12.4, "12 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")])
def test_durations_are_for_people(seconds, shown):
    assert duration(seconds) == shown


def test_counts_agree_with_their_noun():
    assert (plural(1, "call"), plural(0, "call")) == ("1 call", "0 calls")
    assert (times(1), times(3)) == ("once", "3 times")


def test_nothing_is_no_loss() -> None:
    assert (signed(-0.0001), fixed(-0.0001)) == ("+0.00", "0.00")
