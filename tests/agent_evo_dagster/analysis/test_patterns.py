import json
import math

import polars as pl
import pytest
import yaml

from agent_evo_dagster.analysis.series import Ending
from agent_evo_dagster.analysis.syndromes.signs import SIGNS
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.training.config import TrainingConfig
from tests.agent_evo_dagster.analysis.builders import metric_frame, rollout_frame

EMPTY = pl.DataFrame()
FLAT = [0.3, 0.31, 0.3, 0.29, 0.3, 0.31, 0.3, 0.29, 0.3, 0.3]
RISES = [0.1 + 0.08 * step for step in range(10)]
FALLS = [0.2, 0.8, 0.82, 0.8, 0.7, 0.5, 0.4, 0.3, 0.3, 0.3]


def find(series, *, rollouts=EMPTY, ending=None, thresholds=None, **settings):
    known = {"learning_rate": 1e-4, "max_turns": 3, **settings}
    return find_in_training(
        metric_frame(series), rollouts, EMPTY, known, ending=ending, thresholds=thresholds
    )


def named(frame, kind):
    rows = frame.filter(pl.col("kind") == kind).to_dicts()
    return [{**row, "data": json.loads(row["data"])} for row in rows]


def swing(mean, size, steps=10):
    return [mean + size * (-1) ** step for step in range(steps)]


PATTERNS = {
    "no_learning": ({"reward": FLAT}, {"reward": RISES}),
    "collapse": ({"reward": FALLS}, {"reward": RISES}),
    "kl_divergence": (
        {"reward": RISES, "kl": [0.02 * n for n in range(10)]},
        {"reward": RISES, "kl": [0.2] * 10},
    ),
    "mode_collapse": ({"reward": FLAT, "entropy": [0.05] * 10}, {"reward": RISES, "entropy": [0.05] * 10}),
    "length_runaway": (
        {"reward": RISES, "completions/mean_length": [100 + 5 * n for n in range(10)],
         "completions/clipped_ratio": [0.1 * n for n in range(10)]},
        {"reward": RISES, "completions/mean_length": [100 + 5 * n for n in range(10)],
         "completions/clipped_ratio": [0.1] * 10},
    ),
    "gradient_explosion": (
        {"reward": RISES, "grad_norm": [1.0] * 9 + [101.0]},
        {"reward": RISES, "grad_norm": [1.0] * 9 + [9.0]},
    ),
    "turn_limit": (
        {"critic/score/mean": FLAT, "response/aborted_ratio": [0.3] * 10, "num_turns/mean": [3.0] * 10},
        {"critic/score/mean": RISES, "response/aborted_ratio": [0.3] * 10},
    ),
    "held_out_gap": (
        {"reward": RISES, "val-core/gsm8k/acc/mean@1": [0.5, 0.55, 0.5, 0.45]},
        {"reward": RISES, "val-core/gsm8k/acc/mean@1": [0.4, 0.45, 0.5, 0.5]},
    ),
    "clip_fraction_high": (
        {"reward": RISES, "clip_ratio/region_mean": [0.5] * 10, "kl": [0.2] * 10},
        {"reward": RISES, "clip_ratio/region_mean": [0.3] * 10, "kl": [0.2] * 10},
    ),
    "clip_fraction_low": (
        {"reward": FLAT, "clip_ratio/region_mean": [0.001] * 10, "kl": [0.0] * 10},
        {"reward": FLAT, "clip_ratio/region_mean": [0.001] * 10},
    ),
    "zero_variance_groups": (
        {"reward": FLAT, "frac_reward_zero_std": [0.8] * 10},
        {"reward": FLAT, "frac_reward_zero_std": [0.2] * 10},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PATTERNS)
def test_a_pattern_is_found_where_it_is_and_not_where_it_nearly_is(kind):
    there, nearly = PATTERNS[kind]
    (finding,) = named(find(there), kind)
    assert finding["evidence"]
    assert finding["data"]["look_at"]
    assert named(find(nearly), kind) == []


def test_every_pattern_names_the_setting_that_it_points_to():
    untold = {"length_runaway"}  # its setting is no number
    for kind, (there, _) in PATTERNS.items():
        hint = named(find(there), kind)[0]["hint"]
        assert (hint is None) == (kind in untold), kind
        if hint is not None:
            assert json.loads(hint)["setting"] in TrainingConfig.model_fields


@pytest.mark.parametrize(
    ("ending", "severity"),
    [
        (Ending("step 3\ntorch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB", 1), "error"),
        (Ending("", 137), "warning"),
        (Ending("", -9), "warning"),
    ],
)
def test_a_run_that_ran_out_of_memory_is_told_from_its_log_or_its_end(ending, severity):
    (finding,) = named(find({"reward": [0.1, 0.2]}, ending=ending), "out_of_memory")
    assert finding["severity"] == severity
    assert "after step 2" in finding["summary"]


@pytest.mark.parametrize("ending", [None, Ending("memory is fine", 0), Ending("ValueError", 1)])
def test_other_ends_are_not_for_want_of_memory(ending):
    assert named(find({"reward": FLAT}, ending=ending), "out_of_memory") == []


SYNDROMES = {
    "policy_divergence": {"kl": [0.5] * 10, "entropy": swing(0.5, 0.4), "loss": swing(0.0, 1.0)},
    "exploration_exhausted": {
        "reward": FLAT, "entropy": [0.3 - 0.02 * n for n in range(10)],
        "clip_ratio/region_mean": [0.01] * 10, "reward_std": [0.01] * 10,
    },
    "reward_hacking": {"reward": FALLS, "completions/mean_length": [100 + 5 * n for n in range(10)]},
    "off_policy_gap": {"rollout_corr/kl": [0.5] * 10, "rollout_corr/rollout_is_eff_sample_size": [0.1] * 10},
    "endless_loop": {
        "critic/score/mean": FLAT, "num_turns/mean": [3.0] * 10, "response/aborted_ratio": [0.5] * 10
    },
    "nothing_learnt": {"reward": FLAT, "kl": [0.0] * 10, "grad_norm": [1e-4] * 10},
    "shortcut": {
        "reward": [0.1, 0.6, 0.6, *[0.61] * 9], "entropy": [1.0 - 0.08 * n for n in range(12)],
        "completions/mean_length": [100 - 8 * n for n in range(12)],
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", SYNDROMES)
def test_several_signs_make_a_hypothesis_that_never_outranks_a_pattern(kind):
    (finding,) = named(find(SYNDROMES[kind]), kind)
    assert finding["confidence"] <= 0.55
    assert finding["hint"] is None
    assert "perhaps" in finding["summary"]
    assert finding["data"]["seen"]


def test_long_answers_that_are_rewarded_for_their_length_are_a_length_bias():
    short, long = rollout_frame([[0.0, 0.1]], length=10), rollout_frame([[0.9, 1.0]], length=40)
    series = {"completions/mean_length": [20 + n for n in range(10)]}
    (finding,) = named(find(series, rollouts=pl.concat([short, long])), "length_bias")
    assert finding["data"]["seen"] == ["length_grows", "long_is_rewarded"]
    turned = [rollout_frame([[0.0, 0.1]], length=40), rollout_frame([[0.9, 1.0]], length=10)]
    assert named(find(series, rollouts=pl.concat(turned)), "length_bias") == []


@pytest.mark.parametrize("kind", [*SYNDROMES, "length_bias"])
def test_a_healthy_run_has_no_syndrome(kind):
    healthy = {
        "reward": RISES, "kl": [0.01] * 10, "entropy": [0.6 - 0.01 * n for n in range(10)],
        "grad_norm": [1.0] * 10, "clip_ratio/region_mean": [0.1] * 10, "loss": [0.1] * 10,
        "completions/mean_length": [100.0] * 10, "reward_std": [0.4] * 10, "num_turns/mean": [2.0] * 10,
    }  # fmt: skip
    assert named(find(healthy), kind) == []


def test_a_sign_that_was_not_logged_weighs_half_and_one_that_is_absent_nothing():
    logged = {"kl": [0.5] * 10, "entropy": swing(0.5, 0.4)}
    (unknown,) = named(find(logged), "policy_divergence")
    (absent,) = named(find({**logged, "loss": [0.1] * 10, "grad_norm": [1.0] * 10}), "policy_divergence")
    assert unknown["data"]["not_logged"] == ["gradient_spikes", "loss_swings"]
    assert absent["data"]["absent"] == ["gradient_spikes", "loss_swings"]
    assert unknown["confidence"] > absent["confidence"]


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_values_that_are_no_numbers_and_restarts_break_no_rule(value):
    names = [alias for aliases in load_thresholds().names.values() for alias in aliases if "*" not in alias]
    for name in names:
        frame = pl.DataFrame(
            {
                "step": [1, 2, 3, 2, 3, 4],
                "name": [name] * 6,
                "value": [0.1, 0.2, value, 0.3, value, 0.5],
                "finite": [True, True, False, True, False, True],
            }
        )
        find_in_training(frame, EMPTY, EMPTY, {})


def test_every_sign_of_every_syndrome_exists_and_every_sign_is_used():
    used = {sign for one in load_thresholds().syndromes.values() for sign in (*one.signs, *one.must)}
    assert used == set(SIGNS)


def test_an_unknown_sign_in_a_table_is_refused_by_name(tmp_path):
    rule = {"words": "w", "signs": ["moon_phase"], "least": 1, "source": "s", "look_at": ["x"], "move": None}
    override = tmp_path / "mine.yaml"
    override.write_text(yaml.safe_dump({"syndromes": {"astrology": rule}}))
    with pytest.raises(AnalysisError, match="moon_phase"):
        find({"reward": FLAT}, thresholds=load_thresholds(override))


def test_every_rule_of_the_table_says_where_its_values_come_from():
    table = load_thresholds()
    rules = [value for _, value in table if hasattr(value, "source")]
    assert len(rules) >= 13
    assert all(rule.source and rule.look_at for rule in [*rules, *table.syndromes.values()])
