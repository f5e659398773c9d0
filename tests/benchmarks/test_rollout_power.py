"""The simulated power of the judge `rollout`: the same each time, and never towards what does not help."""

from benchmarks.rollout_power import power


def test_what_helps_much_is_accepted_and_what_does_not_is_not():
    figures = power(trials=6, tasks=20)
    shares = {gain: found["accepted"] for gain, found in figures["gains"].items()}
    assert (shares["+0.3"], shares["-0.1"], shares["+0.3, one task lost"]) == (1.0, 0.0, 0.0)
    assert figures["samples"] == 6 and power(trials=6, tasks=20) == figures
