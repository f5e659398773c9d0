"""Whatever a run logged, diagnosing it ends, and what it finds is bounded and repeats to the byte."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.analysis.diagnoses.registry import default_diagnoses
from agent_evo_dagster.analysis.series import Ending, read_run
from agent_evo_dagster.analysis.syndromes.signs import SIGNS
from agent_evo_dagster.analysis.thresholds import load_thresholds
from agent_evo_dagster.analysis.training import find_in_training
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.training.config import TrainingConfig
from tests.agent_evo_dagster.analysis.builders import metric_frame, rollout_frame

NAMES = [alias.replace("*", "x") for aliases in load_thresholds().names.values() for alias in aliases]
values = st.one_of(
    st.none(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, -1.0])
)
runs = st.dictionaries(st.sampled_from(NAMES), st.lists(values, min_size=1, max_size=14), max_size=8)
NOTHING = pl.DataFrame()


@settings(max_examples=120, deadline=None)
@given(
    series=runs, rate=st.sampled_from([0, 1e-6, 1e-2]), log=st.text(max_size=80), code=st.integers(-20, 200)
)
def test_no_run_breaks_a_rule(series, rate, log, code):
    given_ = (metric_frame(series), NOTHING, NOTHING, {"learning_rate": rate, "max_turns": 3})
    first = find_in_training(*given_, ending=Ending(log, code))
    assert first.schema == FINDING_SCHEMA
    assert first.equals(find_in_training(*given_, ending=Ending(log, code)))
    assert first["confidence"].is_between(0, 1).all()
    assert all(len(summary) <= 400 for summary in first["summary"])
    for hint in first["hint"].drop_nulls():
        assert json.loads(hint)["factor"] > 1


@settings(max_examples=60, deadline=None)
@given(series=runs)
def test_every_sign_tells_seen_absent_or_not_logged(series):
    run = read_run(metric_frame(series), NOTHING, NOTHING, {}, load_thresholds())
    for look in SIGNS.values():
        assert look(run).seen in (True, False, None)
        assert look(run).words


def test_a_run_that_logged_nothing_has_no_signs():
    run = read_run(NOTHING, NOTHING, NOTHING, {}, load_thresholds())
    assert {name for name, look in SIGNS.items() if look(run).seen is not None} == set()


def test_each_rule_alone_finds_nothing_in_a_run_of_nothing_but_that_it_is_too_short():
    found = [
        finding.kind
        for diagnosis in default_diagnoses()
        for finding in diagnosis.find(read_run(NOTHING, NOTHING, NOTHING, {}, load_thresholds()))
    ]
    assert found == ["too_few_steps"]


@pytest.mark.parametrize("metric", ["kl", "grad_norm", "entropy", "loss"])
def test_a_constant_metric_is_no_swing_no_spike_and_no_growth(metric):
    frame = find_in_training(
        metric_frame({"reward": [0.1 * n for n in range(10)], metric: [0.4] * 10}), NOTHING, NOTHING, {}
    )
    assert frame.is_empty()


def test_moves_name_settings_that_a_run_has():
    table = load_thresholds()
    moves = [
        move
        for _, rule in table
        for name in ("move", "move_when_greedy", "move_rollout")
        if (move := getattr(rule, name, None)) is not None
    ]
    moves += [syndrome.move for syndrome in table.syndromes.values() if syndrome.move is not None]
    assert len(moves) >= 16
    assert {move.setting for move in moves} <= set(TrainingConfig.model_fields)


def test_the_correlation_of_length_and_reward_is_null_where_either_is_constant():
    def correlation(*frames):
        return read_run(NOTHING, pl.concat(frames), NOTHING, {}, load_thresholds()).rollouts.length_reward

    short, long = rollout_frame([[0.0, 0.0]], length=5), rollout_frame([[1.0, 1.0]], length=50)
    assert correlation(short, long) == pytest.approx(1.0)
    assert correlation(short) is None
    assert correlation(rollout_frame([[0.0, 1.0]], length=5)) is None


def test_of_two_names_that_a_run_logged_the_first_of_the_table_is_taken():
    names = ("critic/score/mean", "reward", "val-core/b/mean@1", "val-core/a/mean@1")
    run = read_run(metric_frame({name: [0.5] for name in names}), NOTHING, NOTHING, {}, load_thresholds())
    assert run.get("reward").name == "reward"
    assert run.get("held_out").name == "val-core/a/mean@1"
