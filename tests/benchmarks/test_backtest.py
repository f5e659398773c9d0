"""The back-test of recordings at several cuts: what is printed, and what is drawn."""

from benchmarks.backtest import SHARES, drawn, measured, table
from benchmarks.closed_loop_homes import PROJECT


def test_samples_are_measured_at_each_cut_and_what_cannot_be_measured_is_said():
    results = measured(PROJECT / "samples", [0.5, 0.8])
    assert [one.sessions for one in results] == [(3, 3), (5, 1)]
    told = table(results).splitlines()
    assert len(told) == 2
    assert all(name in told[0] for name in SHARES)
    plot = drawn(results)
    assert told[1] in plot.alt
    assert plot.svg == drawn(results).svg
