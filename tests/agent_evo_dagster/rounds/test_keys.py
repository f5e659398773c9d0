"""Round keys: one rule, numeric order, and an error that says the rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.keys import round_key, round_number


@given(st.integers(1, 999_999_999))
def test_a_key_and_its_number_are_inverse(number: int) -> None:
    assert round_number(round_key(number)) == number


def test_rounds_are_ordered_by_number_not_by_text() -> None:
    keys = [round_key(number) for number in (10_000, 10, 9999, 9)]
    assert [round_number(key) for key in sorted(keys, key=round_number)] == [9, 10, 9999, 10_000]


@pytest.mark.parametrize(
    "key",
    [
        "round-1",
        "round-00001",
        "round-0000",
        "a/b",
        "round-0001,round-0002",
        "..",
        "round-0001\n",
        "",
        "round-" + "1" * 300,
    ],
)
def test_a_key_that_breaks_the_rule_is_refused_with_the_rule(key: str) -> None:
    with pytest.raises(RoundError, match=r"at least four digits, such as round-0001|run from 1"):
        round_number(key)


@pytest.mark.parametrize("number", [0, -1, 10**9])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(RoundError, match="run from 1"):
        round_key(number)
