from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.training.environments.answers import format_number, parse_number, same_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("55", 55),
        ("-55", -55),
        ("\N{MINUS SIGN}55", -55),
        ("+55", 55),
        (" 55\n", 55),
        ("1,234", 1234),
        ("12,345,678", 12345678),
        ("0.5", Fraction(1, 2)),
        ("1,234.50", Fraction(2469, 2)),
        ("50%", Fraction(1, 2)),
        ("7/2", Fraction(7, 2)),
    ],
)
def test_numbers_are_read(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "1,23",
        "1,2345",
        "5 apples",
        "1 2",
        "1e3",
        "NaN",
        "inf",
        "²",
        "٣",
        "1/0",
        "--1",
        "5.",
        "9" * 65,
    ],
)
def test_what_is_not_one_number_is_none(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("given_text", "expected"), [("1009", "1000"), ("140", "100"), ("100", "140"), ("1000", "100")]
)
def test_a_number_that_contains_another_is_not_the_same(given_text, expected):
    assert not same_number(given_text, expected)


def test_the_same_number_in_another_dress_is_the_same():
    assert same_number("1,234.0", "1234")
    assert same_number("50%", "0.5")


def test_no_answer_is_not_a_number():
    assert not same_number(None, "5")
    assert not same_number("os.getpid()", "5")


@given(st.fractions(max_denominator=10**6))
def test_formatted_numbers_are_read_back(value):
    assert parse_number(format_number(value)) == value
