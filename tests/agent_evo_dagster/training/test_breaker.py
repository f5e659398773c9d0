"""A run that cannot come to anything is stopped, with the numbers; a run that only wanders is not."""

import random

import pytest

from agent_evo_dagster.training.breaker import BreakerSettings, tripped

ON = BreakerSettings()


def steps(**series):
    """Steps whose metrics are the given series, oldest first."""
    return [dict(zip(series, values, strict=True)) for values in zip(*series.values(), strict=True)]


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        ({"reward": [0.2, 0.1, 0, 0, 0]}, "reward 0 for 3 steps, after 2 above 0"),
        ({"loss": [0.0, 0.3, 0.6, 0.9, 1.2, 1.6]}, "loss up in 5 steps in a row, by 1.6"),
        ({"loss": [0.1, None]}, "loss not finite"),
        ({"loss": [0.1, None], "grad_norm": [1.0, None]}, "loss and grad_norm not finite"),
        ({"grad_norm": [3.0, 101.0]}, "gradient norm 101, above 100"),
        ({"grad_norm": [4.0, 7.0, 12.0, 20.0]}, "up by more than half in 3 steps in a row, to 20"),
        ({"entropy": [0.05, 0.03, 0.02, 0.009]}, "entropy fell in 3 steps in a row, to 0.009 nats"),
        ({"reward": [0.0] * 3, "loss": [0.0] * 3}, "no reward in the first 3 steps"),
    ],
)
def test_a_rule_trips_and_names_its_numbers(series, reason):
    assert reason in tripped(ON, steps(**series))


@pytest.mark.parametrize(
    "series",
    [
        {"reward": [0.2, 0, 0, 0]},  # one step of reward was luck
        {"reward": [0.2, 0.1, 0, 0, 0.1]},
        {"loss": [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]},  # GRPO's loss wanders around 0
        {"loss": [0.0, 0.5, 0.4, 1.2, 1.5, 1.9]},
        {"grad_norm": [0.1, 0.2, 0.4, 0.8]},
        {"entropy": [0.05, 0.03, 0.02, 0.011]},
        {"entropy": [0.004, 0.003, 0.0035, 0.003]},
        {"reward": [0.0] * 4, "loss": [0.0] * 4},  # asked once, after the third step
        {"reward": [0.0, 0.0, 0.1], "loss": [0.0] * 3},
    ],
)
def test_noise_does_not_trip(series):
    assert tripped(ON, steps(**series)) is None


def test_a_run_that_gets_slow_trips_only_where_a_clock_may_decide():
    slow = steps(rollout_tokens_per_second=[100.0, 110.0, 90.0, 15.0, 12.0])
    assert tripped(ON, slow) is None
    assert "12 tokens/s for 2 steps, 100 before" in tripped(BreakerSettings(stop_slow_share=0.8), slow)
    once = steps(rollout_tokens_per_second=[100.0, 110.0, 90.0, 95.0, 12.0])
    assert tripped(BreakerSettings(stop_slow_share=0.8), once) is None


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("stop_lost_reward", {"reward": [0.2, 0.1, 0, 0, 0]}),
        ("stop_rising_loss", {"loss": [0.0, 0.3, 0.6, 0.9, 1.2, 1.6]}),
        ("stop_grad_norm", {"grad_norm": [3.0, 101.0]}),
        ("stop_grad_growth", {"grad_norm": [4.0, 7.0, 12.0, 20.0]}),
        ("stop_entropy", {"entropy": [0.05, 0.03, 0.02, 0.009]}),
        ("stop_no_reward", {"reward": [0.0] * 3, "loss": [0.0] * 3}),
    ],
)
def test_every_rule_but_that_for_nan_can_be_switched_off(name, series):
    assert tripped(ON.model_copy(update={name: 0}), steps(**series)) is None


def test_a_healthy_run_of_noise_goes_on_to_its_end():
    draw = random.Random(0)
    healthy = [
        {
            "reward": draw.uniform(0.2, 0.6),
            "loss": draw.gauss(0, 0.05),
            "grad_norm": draw.uniform(0.3, 3.0),
            "entropy": draw.uniform(0.3, 0.6),
        }
        for _ in range(500)
    ]
    assert all(tripped(ON, healthy[: number + 1]) is None for number in range(500))


def test_before_the_first_step_nothing_trips():
    assert tripped(ON, []) is None
