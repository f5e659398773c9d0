import polars as pl
import pytest
from pydantic import BaseModel

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of
from agent_evo_dagster.analysis.diagnoses.registry import default_diagnoses
from agent_evo_dagster.analysis.series import Series, read_run
from agent_evo_dagster.analysis.thresholds import Move, load_thresholds
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.training.config import TrainingConfig
from tests.agent_evo_dagster.analysis.builders import evaluation_frame, metric_frame, rollout_frame

EMPTY = pl.DataFrame()


def read(metrics=EMPTY, rollouts=EMPTY, evaluation=EMPTY, **settings):
    return read_run(metrics, rollouts, evaluation, settings, load_thresholds())


def test_values_that_are_not_finite_are_kept_apart_by_step():
    series = read(metric_frame({"loss": [0.5, None, 0.4, None]})).get("loss")
    assert (series.steps, series.values, series.broken) == ((1, 3), (0.5, 0.4), (2, 4))
    assert series.evidence == "loss@1-3"


def test_a_value_called_finite_that_is_not_is_broken_too():
    rows = [{"step": 1, "name": "loss", "value": float("nan"), "finite": True}]
    frame = pl.DataFrame(rows, schema=metric_frame({}).schema)
    assert read(frame).get("loss").broken == (1,)


def test_what_was_not_logged_is_an_empty_series():
    series = read().get("entropy")
    assert not series
    assert series.mean is None
    assert series.later_half().mean is None
    assert series.evidence == "entropy"


def test_the_first_name_that_was_logged_is_taken():
    both = metric_frame({"actor/entropy": [1.0], "entropy": [2.0]})
    assert read(both).get("entropy").values == (2.0,)


@pytest.mark.parametrize(("count", "half"), [(1, 1), (2, 1), (5, 3), (10, 5)])
def test_the_later_half_has_at_least_one_point(count, half):
    series = Series("x", tuple(range(count)), tuple(map(float, range(count))))
    assert series.later_half().steps == tuple(range(count - half, count))


def test_start_and_end_are_means_of_at_least_three_points():
    series = Series("x", tuple(range(8)), (0.0, 3.0, 6.0, 9.0, 9.0, 1.0, 2.0, 3.0))
    assert (series.start, series.end) == (3.0, 2.0)


def test_rewards_missing_from_the_metrics_come_from_the_rollouts_and_say_so():
    reward = read(rollouts=rollout_frame([[0.0, 1.0], [1.0, 1.0]])).get("reward")
    assert (reward.name, reward.values) == ("rollouts.reward", (0.75,))


def test_rewards_that_were_logged_are_preferred():
    run = read(metric_frame({"reward": [0.1]}), rollout_frame([[1.0, 1.0]]))
    assert run.get("reward").values == (0.1,)


def test_rollouts_are_counted_by_their_end():
    figures = read(rollouts=rollout_frame([[0.0, 1.0]], finish="length", length=33)).rollouts
    assert figures.rollouts == 2
    assert figures.share("length") == 1.0
    assert figures.share("stop") == 0.0
    assert figures.cut_lengths == (33, 33)


def test_a_rollout_without_a_finite_reward_does_not_count_for_the_mean():
    reward = read(rollouts=rollout_frame([[float("nan"), 1.0]])).get("reward")
    assert reward.values == (1.0,)


def test_accuracy_is_told_by_mode_and_policy():
    evaluation = evaluation_frame({"before": [True, False, False, False], "after": [True] * 4})
    assert read(evaluation=evaluation).accuracy == {"sampled after": 1.0, "sampled before": 0.25}


def test_only_numbers_are_settings_to_reckon_with():
    run = read(learning_rate=2e-5, loss_type="dapo", max_steps=10)
    assert run.setting("learning_rate") == 2e-5
    assert run.setting("max_steps") == 10.0
    assert run.setting("loss_type") is None
    assert run.setting("none") is None


@pytest.mark.parametrize("frame", ["rollouts", "evaluation"])
def test_frames_that_lack_columns_are_refused_by_name(frame):
    with pytest.raises(AnalysisError, match=f"frame of {frame}"):
        read(**{frame: pl.DataFrame({"step": [1]})})


RAISE = Move(setting="x", direction="raise", factor=4, limit=10.0)
LOWER = Move(setting="x", direction="lower", factor=4, limit=1.0)


@pytest.mark.parametrize(
    ("move", "value", "factor"),
    [(RAISE, 1.0, 4.0), (RAISE, 5.0, 2.0), (LOWER, 8.0, 4.0), (LOWER, 2.0, 2.0), (RAISE, None, 4.0)],
)
def test_a_move_goes_as_far_as_its_limit(move, value, factor):
    hint = hint_of(move, read(x=value) if value is not None else read(), "why")
    assert (hint.setting, hint.direction, hint.factor) == ("x", move.direction, factor)


@pytest.mark.parametrize(("move", "value"), [(RAISE, 9.0), (RAISE, 50.0), (LOWER, 1.0), (RAISE, 0.0)])
def test_a_move_that_would_change_nothing_is_no_hint(move, value):
    assert hint_of(move, read(x=value), "why") is None


def test_every_diagnosis_has_a_name_of_its_own():
    names = [diagnosis.name for diagnosis in default_diagnoses()]
    assert len(names) == len(set(names))


def test_every_move_of_the_table_names_a_setting_of_a_run():
    sections = [dict(section) for _, section in load_thresholds() if isinstance(section, BaseModel)]
    moves = [value for section in sections for value in section.values() if isinstance(value, Move)]
    assert len(moves) >= 8
    assert {move.setting for move in moves} <= set(TrainingConfig.model_fields)
