from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from agent_evo_dagster.analysis.backtest import backtest, session_order
from agent_evo_dagster.analysis.backtest_words import conclusions
from agent_evo_dagster.errors import AnalysisError
from tests.agent_evo_dagster.analysis.builders import START, segment_frame, step_frame
from tests.agent_evo_dagster.analysis.session_builders import bash

BROKEN = "Exit code 1\nValueError: shape {}"
OTHER = "Exit code 1\nKeyError: 'x'"


def measure(*sessions, **options):
    """A back-test over sessions of calls, in this order."""
    calls = [
        {
            **call,
            "session_id": f"s{at}",
            "trajectory_id": f"t-s{at}",
            "started_at": START + timedelta(hours=at),
        }
        for at, session in enumerate(sessions)
        for call in session
    ]
    steps = step_frame(calls)
    return backtest(steps, segment_frame(steps), **options)


def fails(error=OTHER, command="python x.py"):
    return bash(command, "failure", error)


def share(rate):
    return rate.hits, rate.of


def test_a_later_failure_of_a_kind_that_was_found_is_covered_and_another_is_not():
    result = measure(
        [fails(BROKEN.format(1))], [fails(BROKEN.format(2), "python y.py"), fails(OTHER)], split=0.5
    )
    assert result.sessions == (1, 1)
    assert share(result.coverage) == (1, 2)
    assert share(result.precision) == (1, 1)


def test_sessions_are_cut_by_time_and_not_by_name():
    steps = step_frame(
        [
            {**bash("a", session="zz"), "started_at": START},
            {**bash("a", session="aa"), "started_at": START + timedelta(days=1)},
            {**bash("a", session="mm"), "started_at": None},
        ]
    )
    assert session_order(steps) == ["zz", "aa", "mm"]


def test_what_happened_later_tells_nothing_of_what_was_found():
    once, twice = [fails(OTHER)], [fails(OTHER), fails(BROKEN.format(1))]
    assert measure([bash("ls")], once, twice, split=0.34).coverage.hits == 0


def test_findings_that_never_come_again_have_no_precision():
    result = measure([fails(OTHER)], [bash("ls")], split=0.5)
    assert share(result.precision) == (0, 1)
    assert result.coverage.value is None
    assert (result.coverage.of, result.baseline_coverage.low) == (0, None)


def test_the_baseline_names_the_k_commonest_errors_and_findings_are_held_to_k():
    earlier = [fails(BROKEN.format(1))] * 3 + [fails(OTHER)]
    later = [fails(BROKEN.format(9)), fails(OTHER)]
    result = measure(earlier, later, split=0.5, k=1)
    assert share(result.baseline_coverage) == (1, 2)
    assert share(result.baseline_precision) == (1, 1)
    assert result.precision_at_k.of == 1
    assert share(result.coverage) == (2, 2)
    assert result.coverage_gain.hits == result.coverage_at_k.hits - 1


def test_troubles_without_a_failing_call_count_as_troubles_and_not_as_failures():
    polls = [bash(f"sleep 60 && tail -{n} log") for n in range(3)]
    result = measure(polls, polls, [bash("ls")], split=0.34)
    assert result.failures == (0, 0)
    assert share(result.trouble_coverage) == (1, 1)
    assert [(row.kind, row.earlier, row.again, row.later) for row in result.kinds] == [("polling", 1, 1, 1)]


def test_what_a_skill_took_is_no_trouble():
    assert measure([bash("a")], [bash("a")], split=0.5).precision.of == 0


def test_intervals_hold_the_value_and_the_same_seed_gives_the_same():
    sessions = [[fails(BROKEN.format(n)), *([fails(OTHER)] if n % 3 else [])] for n in range(12)]
    first, again, other = (measure(*sessions, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other or first.coverage == other.coverage
    for rate in (first.coverage, first.precision, first.baseline_coverage, first.precision_at_k):
        assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_a_rate_over_many_alike_sessions_is_surer_than_over_few():
    def width(count):
        later = [[fails(BROKEN.format(1))] if n % 2 else [fails(OTHER)] for n in range(count)]
        rate = measure([fails(OTHER)], *later, split=1 / (count + 1)).coverage
        return rate.high - rate.low

    assert width(40) < width(6)


@pytest.mark.parametrize("split", [0.0, 1.0, -1.0, 0.1, 0.99])
def test_a_split_that_leaves_a_side_empty_is_refused(split):
    with pytest.raises(AnalysisError, match="sessions on both sides"):
        measure([bash("a")], [bash("b")], split=split)


def test_no_sessions_cannot_be_split():
    with pytest.raises(AnalysisError, match="0 sessions"):
        backtest(step_frame([]), pl.DataFrame())


@pytest.mark.parametrize("split", [float("nan"), float("inf"), 0.0, 1.0, -1.0])
def test_a_split_that_leaves_nothing_is_refused(split):
    with pytest.raises(AnalysisError, match="split between 0 and 1"):
        measure([bash("a")], [bash("a")], split=split)


def test_few_sessions_conclude_nothing_and_say_so():
    told = list(conclusions(measure([fails(OTHER)], [fails(OTHER)], split=0.5)))
    assert told == [
        "Earlier findings had named 1 of 1 later failed call. In other sessions the share may be anything "
        "from 21 % to 100 %: too few to conclude from.",
        "1 of 1 earlier finding occurred again in the 1 later session. One that did not may do so in "
        "sessions that are not here.",
        "That findings name more later failures, or fewer, than the 10 commonest errors do is not shown.",
        "Only 1 later session: this describes it, and is no measurement of findings. Come back with 20 later "
        "sessions or more, of work like yours.",
    ]


def test_without_a_later_failure_or_an_earlier_finding_that_is_what_is_said():
    told = " ".join(conclusions(measure([bash("ls")], [bash("ls")], split=0.5)))
    assert "cannot be told: no later session has a failed call" in told
    assert "cannot be told: the earlier sessions gave none" in told


def test_many_sessions_conclude_what_their_intervals_hold():
    many = measure([fails(OTHER)], *([[fails(OTHER)]] * 30), split=0.05)
    named, _, against = list(conclusions(many))
    assert named.endswith("In other sessions like these it is, 95 % sure, from 88 % to 100 %.")
    assert "is not shown" in against
    gain = replace(many.coverage_gain, low=0.2, high=0.4)
    assert "named more of" in list(conclusions(replace(many, coverage_gain=gain)))[2]


def test_a_difference_that_every_draw_has_is_given_no_interval():
    gain = measure([fails(OTHER)], [fails(OTHER)], split=0.5).coverage_gain
    assert (gain.value, gain.low, gain.high) == (0.0, None, None)
