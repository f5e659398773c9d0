import json
import random

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.training.types import METRIC_SCHEMA, ROLLOUT_SCHEMA
from tests.agent_evo_dagster.analysis.builders import evaluation_frame, metric_frame, rollout_frame

EMPTY = pl.DataFrame()
HEALTHY = {"grad_norm": 0.8, "entropy": 1.0, "loss": 0.01, "clip_ratio/region_mean": 0.0}


def noisy(start, end, steps=10, seed=0):
    dice = random.Random(seed)
    return [start + (end - start) * at / (steps - 1) + dice.gauss(0, 0.04) for at in range(steps)]


def find(series, rollouts=EMPTY, **settings_of_run):
    steps = max(map(len, series.values()), default=0)
    healthy = {name: [value] * steps for name, value in HEALTHY.items()}
    return find_in_training(metric_frame({**healthy, **series}), rollouts, EMPTY, settings_of_run)


def hint(frame, kind):
    (finding,) = frame.filter(pl.col("kind") == kind).to_dicts()
    return json.loads(finding["hint"]) if finding["hint"] else None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("rate", "end"), [(2e-5, 0.27), (6e-5, 0.34)])
def test_a_cautious_learning_rate_is_found_and_raised(rate, end, seed):
    frame = find({"reward": noisy(0.22, end, seed=seed)}, learning_rate=rate)
    (finding,) = frame.to_dicts()
    assert finding["kind"] in {"no_learning", "slow_learning"}
    assert finding["target_skill"] == "rllm-config"
    assert "headroom" in finding["summary"]
    assert hint(frame, finding["kind"])["setting"] == "learning_rate"
    assert hint(frame, finding["kind"])["direction"] == "raise"
    assert hint(frame, finding["kind"])["factor"] == 5.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("start", "end"), [(0.22, 0.7), (0.22, 0.87), (0.92, 0.94), (0.7, 0.95)])
def test_fast_learning_and_a_solved_task_are_no_trouble(start, end, seed):
    assert find({"reward": noisy(start, end, seed=seed)}, learning_rate=6e-4).is_empty()


@pytest.mark.parametrize("rewards", [noisy(0.22, 0.22), noisy(0.2, 0.9), [0.3]])
def test_a_learning_rate_of_zero_is_said_to_be_zero(rewards):
    frame = find({"reward": rewards}, learning_rate=0)
    assert frame["kind"].to_list() == ["no_learning"]
    assert "learning rate is zero" in frame["summary"][0]
    assert hint(frame, "no_learning") is None


def test_a_raise_stops_at_the_limit_of_the_rule():
    slow = noisy(0.22, 0.24)
    assert hint(find({"reward": slow}, learning_rate=2e-4), "no_learning")["factor"] == pytest.approx(3)
    assert hint(find({"reward": slow}, learning_rate=6e-4), "no_learning") is None


def test_a_run_without_a_known_learning_rate_is_still_judged():
    assert hint(find({"reward": noisy(0.22, 0.24)}), "no_learning")["factor"] == 5.0


@pytest.mark.parametrize(
    "obstacle",
    [
        {"grad_norm": [0.0] * 10},
        {"grad_norm": [500.0] * 10},
        {"entropy": [0.01] * 10},
        {"frac_reward_zero_std": [0.9] * 10},
    ],
)
def test_the_learning_rate_is_not_raised_where_something_else_is_in_the_way(obstacle):
    frame = find({"reward": noisy(0.22, 0.24), **obstacle}, learning_rate=2e-5)
    assert hint(frame, "no_learning") is None


@pytest.mark.parametrize("seed", range(5))
def test_a_reward_that_rises_and_falls_has_collapsed(seed):
    rewards = noisy(0.2, 0.8, 8, seed) + noisy(0.7, 0.3, 6, seed)
    frame = find({"reward": rewards}, learning_rate=1e-3)
    assert frame["kind"].to_list() == ["collapse"]
    assert hint(frame, "collapse")["direction"] == "lower"
    assert frame["severity"][0] == "error"


def test_a_falling_reward_never_raises_the_learning_rate():
    frame = find({"reward": [0.40 - 0.013 * at for at in range(10)]}, learning_rate=1e-5)
    assert "the reward is falling" in frame["summary"][0]
    assert frame["hint"].null_count() == 1


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ({"loss": [0.1] * 9 + [None]}, "loss is not a finite number at step 10"),
        ({"grad_norm": [1.0] * 9 + [300.0]}, "gradient norm reaches 300"),
        ({"grad_norm": [1.0 * 2**at for at in range(6)]}, "gradient norm rises"),
        ({"kl": [0.05 * at for at in range(10)]}, "KL rises"),
        ({"clip_ratio/region_mean": [0.5] * 10}, "50 % of the ratios"),
    ],
)
def test_updates_out_of_proportion_lower_the_learning_rate(series, words):
    frame = find({"reward": noisy(0.2, 0.9), **series}, learning_rate=1e-3).filter(
        pl.col("kind").is_in(["gradient_explosion", "kl_divergence", "clip_fraction_high"])
    )
    assert words in frame["summary"][0]
    assert hint(frame, frame["kind"][0])["direction"] == "lower"


def test_groups_without_variance_ask_for_larger_groups():
    frame = find({"reward": noisy(0.2, 0.8), "frac_reward_zero_std": [0.7] * 10}, num_generations=4)
    assert hint(frame, "zero_variance_groups") == {
        "setting": "num_generations",
        "direction": "raise",
        "factor": 2.0,
        "why": "70 % of the groups are alike; larger groups differ more often",
    }


def test_groups_without_variance_under_low_entropy_ask_for_a_higher_temperature():
    series = {"reward": noisy(0.2, 0.8), "frac_reward_zero_std": [0.7] * 10, "entropy": [0.15] * 10}
    assert hint(find(series), "zero_variance_groups")["setting"] == "temperature"


def test_groups_that_are_alike_because_they_are_solved_ask_for_nothing():
    frame = find({"reward": [0.97] * 10, "frac_reward_zero_std": [0.9] * 10})
    assert hint(frame, "zero_variance_groups") is None
    assert frame["severity"].to_list() == ["info"]


def test_without_the_metric_groups_are_compared_in_the_rollouts():
    frame = find_in_training(EMPTY, rollout_frame([[0, 0, 0], [1, 1, 1], [0, 1, 0]]), EMPTY, {})
    finding = frame.filter(pl.col("kind") == "zero_variance_groups").to_dicts()[0]
    assert json.loads(finding["data"])["share"] == pytest.approx(2 / 3, abs=1e-5)
    assert "rollouts.equal_groups@1-1" in finding["evidence"]


@pytest.mark.parametrize(("length", "setting"), [(96, "max_completion_length"), (40, "max_new_tokens")])
def test_truncation_names_the_limit_that_cut(length, setting):
    rollouts = rollout_frame([[0.0, 1.0], [1.0, 0.0]], finish="length", length=length)
    frame = find({"reward": noisy(0.2, 0.8)}, rollouts, max_completion_length=96, max_new_tokens=40)
    assert hint(frame, "truncation")["setting"] == setting
    assert hint(frame, "truncation")["direction"] == "raise"


def test_truncation_is_found_without_rollouts():
    frame = find({"reward": noisy(0.2, 0.8), "completions/clipped_ratio": [0.2] * 10})
    assert hint(frame, "truncation")["setting"] == "max_completion_length"


def test_rollouts_that_use_up_their_turns_ask_for_more():
    rollouts = rollout_frame([[0.0, 1.0]], finish="tool_limit")
    assert (
        hint(find({"reward": noisy(0.2, 0.8)}, rollouts, max_turns=3), "turn_limit")["setting"] == "max_turns"
    )


def test_an_entropy_near_zero_with_room_left_is_a_mode_collapse():
    frame = find({"reward": noisy(0.6, 0.62), "entropy": [0.5 - 0.05 * at for at in range(10)]})
    assert hint(frame, "mode_collapse")["setting"] == "temperature"


def test_low_entropy_with_groups_that_differ_raises_the_learning_rate():
    series = {"reward": noisy(0.75, 0.8), "entropy": [0.05] * 10, "frac_reward_zero_std": [0.2] * 10}
    frame = find(series, learning_rate=1e-4)
    assert frame["kind"].to_list() == ["no_learning"]
    assert hint(frame, "no_learning")["setting"] == "learning_rate"


def test_a_policy_that_learns_well_may_lose_entropy():
    assert find({"reward": noisy(0.3, 0.8), "entropy": [0.25 - 0.023 * at for at in range(10)]}).is_empty()


def test_a_run_too_short_for_a_trend_says_so():
    frame = find({"reward": [0.2, 0.3]}, learning_rate=2e-5)
    assert frame["kind"].to_list() == ["too_few_steps"]
    assert frame["hint"].to_list() == [None]


def test_a_step_logged_again_after_a_restart_counts_once():
    rewards = noisy(0.22, 0.24)
    again = pl.concat([metric_frame({"reward": [9.0, 9.0]}), metric_frame({"reward": rewards})])
    once = metric_frame({"reward": rewards})
    assert find_in_training(again, EMPTY, EMPTY, {}).equals(find_in_training(once, EMPTY, EMPTY, {}))


def test_the_names_of_verl_are_understood():
    names = {"critic/score/mean": noisy(0.22, 0.24), "actor/grad_norm": [0.5] * 10}
    assert (
        find_in_training(metric_frame(names), EMPTY, EMPTY, {})["evidence"][0][0] == "critic/score/mean@1-10"
    )


def test_held_out_accuracy_is_among_the_numbers():
    evaluation = evaluation_frame({"before": [True, False], "after": [True, True]})
    frame = find_in_training(metric_frame({"reward": noisy(0.22, 0.24)}), EMPTY, evaluation, {})
    data = json.loads(frame["data"][0])
    assert data["held-out accuracy, sampled before"] == 0.5
    assert data["held-out accuracy, sampled after"] == 1.0


def test_thresholds_are_data(tmp_path):
    override = tmp_path / "mine.yaml"
    override.write_text("learning:\n  enough_headroom: 0.9\n")
    series = metric_frame({"reward": noisy(0.22, 0.24)})
    assert find_in_training(series, EMPTY, EMPTY, {}, thresholds=load_thresholds(override)).is_empty()


@pytest.mark.parametrize("text", ["learning: {typo: 1}", "- a list", "a: [", "collapse: {fall: .nan}"])
def test_thresholds_that_are_not_the_table_are_refused(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(AnalysisError, match=r"bad\.yaml"):
        load_thresholds(path)


def test_metrics_that_lack_a_column_are_refused_by_name():
    with pytest.raises(AnalysisError, match="lacks finite"):
        find_in_training(metric_frame({}).drop("finite"), EMPTY, EMPTY, {})


numbers = st.one_of(st.none(), st.floats(-2, 2), st.floats(allow_nan=True, allow_infinity=True))
names = sorted({name for aliases in load_thresholds().names.values() for name in aliases})
metric_rows = st.lists(
    st.fixed_dictionaries(
        {
            "step": st.integers(0, 30),
            "name": st.sampled_from([*names, "step_time"]),
            "value": numbers,
            "finite": st.booleans(),
        }
    ),
    max_size=40,
)
rewards = st.lists(st.lists(st.floats(allow_nan=True), min_size=1, max_size=3), max_size=3)
run_settings = st.dictionaries(
    st.sampled_from(["learning_rate", "num_generations", "max_completion_length", "temperature"]),
    st.one_of(st.floats(0, 10), st.integers(0, 100), st.just("text")),
)


@settings(max_examples=150, deadline=None)
@example(rows=[], groups=[[-4.7e16], [-3.6e-252, -4.3e16, 2.2e16], [4.7e16]], values={"learning_rate": 79})
@given(metric_rows, rewards, run_settings)
def test_no_log_breaks_a_diagnosis(rows, groups, values):
    metrics = pl.DataFrame(rows, schema=METRIC_SCHEMA)
    rollouts = rollout_frame(groups) if groups else pl.DataFrame(schema=ROLLOUT_SCHEMA)
    frame = find_in_training(metrics, rollouts, EMPTY, values)
    assert frame.schema == FINDING_SCHEMA
    assert frame.equals(find_in_training(metrics, rollouts, EMPTY, values))
    assert frame["confidence"].is_between(0, 1).all()


def test_a_collapse_tells_what_its_figures_are_means_of():
    rewards = [0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    said = find_in_training(metric_frame({"reward": rewards}), EMPTY, EMPTY, {})
    (collapse,) = said.filter(pl.col("kind") == "collapse")["summary"]
    steps = load_thresholds().collapse.smooth_steps
    assert f"from 0.60 around step 5 to 0.10 at the end (means of {steps} steps; " in collapse
    assert collapse.endswith("mean 0.30 at steps 1-4, 0.10 at steps 13-16")
