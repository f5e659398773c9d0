"""Which source decides a setting, and how that is told."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_sources import (
    CONFIG_SCHEMA,
    ResolvedConfig,
    SettingRow,
    SourcedSetting,
    config_from_frame,
    resolve_config,
    to_frame,
)


def setting(
    name: str, value: float | str, low: float | None = None, high: float | None = None
) -> SourcedSetting:
    return SourcedSetting(name, value, low, high, "measured", "rllm-config", "optimisation")


def resolve(
    *skills: SourcedSetting, request: str = "", seed: int = 0, **overrides: float | str
) -> ResolvedConfig:
    return resolve_config(skill_settings=skills, request=request, overrides=overrides, seed=seed)


def row(resolved: ResolvedConfig, name: str) -> SettingRow:
    return next(row for row in resolved.rows if row.name == name)


RATE = setting("learning_rate", 2e-5, 1e-6, 2e-3)


def test_without_any_source_the_defaults_hold():
    resolved = resolve()
    assert resolved.config == TrainingConfig()
    assert [row.name for row in resolved.rows] == list(TrainingConfig.model_fields)
    assert {row.source for row in resolved.rows if row.name != "seed"} == {"default"}


@pytest.mark.parametrize(
    ("request_", "overrides", "value", "source", "origin"),
    [
        ("", {}, 2e-5, "skill", "rllm-config/optimisation"),
        ("lr=1e-4", {}, 1e-4, "request", "lr=1e-4"),
        ("lr=1e-4", {"learning_rate": 5e-4}, 5e-4, "override", "learning_rate=0.0005"),
    ],
)
def test_the_later_source_wins(request_, overrides, value, source, origin):
    resolved = resolve(RATE, request=request_, **overrides)
    assert resolved.config.learning_rate == value
    found = row(resolved, "learning_rate")
    assert (found.value, found.source, found.origin) == (value, source, origin)


def test_the_seed_is_the_rounds_own():
    assert row(resolve(seed=7), "seed") == SettingRow(
        "seed", 7, "manifest", "round manifest", "fixed when the round was opened"
    )
    assert resolve(seed=7, request="seed 3").config.seed == 3


def test_a_replaced_value_is_named():
    assert (
        "instead of 2e-05 (skill: rllm-config/optimisation)"
        in row(resolve(RATE, learning_rate=1e-4), "learning_rate").why
    )


def test_a_person_may_leave_the_range_of_the_skill_and_it_is_said():
    resolved = resolve(RATE, learning_rate=0)
    assert resolved.config.learning_rate == 0
    assert resolved.beyond == (
        "learning_rate = 0.0 is outside its range [1e-06, 0.002] in rllm-config/optimisation",
    )
    assert resolve(RATE, learning_rate=2e-3).beyond == ()
    assert (
        "outside its range [1e-06, 0.002] in rllm-config/optimisation" in row(resolved, "learning_rate").why
    )


def test_an_unknown_setting_in_a_skill_names_skill_section_and_the_known_ones():
    with pytest.raises(
        TrainingError,
        match=r"'learnrate' in the section 'optimisation' of the skill 'rllm-config'.*learning_rate",
    ):
        resolve(setting("learnrate", 1))


def test_a_skill_value_outside_its_own_range_is_an_error():
    with pytest.raises(
        TrainingError, match=r"rllm-config/optimisation sets learning_rate to 0.1, outside its range"
    ):
        resolve(setting("learning_rate", 0.1, 1e-6, 2e-3))


def test_a_setting_in_two_sections_is_an_error():
    with pytest.raises(TrainingError, match="set by rllm-config/optimisation and by"):
        resolve(RATE, RATE)


def test_a_skill_does_not_choose_the_seed():
    with pytest.raises(TrainingError, match="belongs to the round"):
        resolve(setting("seed", 1))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"learning_rate": -1.0},
            r"learning_rate = -1.0 \(override: learning_rate=-1.0\): .*greater than or equal to 0",
        ),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"max_steps": 2.5}, "max_steps = 2.5"),
        ({"loss_type": "ppo"}, "loss_type = 'ppo'.*'grpo'"),
        ({"model": "qwen2.5-7b"}, "model = 'qwen2.5-7b'.*embedded"),
        ({"max_step": 3}, "'max_step' in the overrides.*max_steps"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_with_its_source(overrides, message):
    with pytest.raises(TrainingError, match=message):
        resolve(**overrides)


def test_all_problems_are_told_at_once():
    with pytest.raises(TrainingError, match=r"(?s)max_steps = 0 .*temperature = 9"):
        resolve(max_steps=0, request="temperature 9")


def test_what_the_request_says_in_vain_is_kept():
    assert resolve(request="10k problems, seed 3").ignored == "10k problems"


def test_the_frame_has_one_row_per_field_and_json_values():
    frame = to_frame(resolve(RATE, request="loss_type=grpo"))
    assert frame.schema == CONFIG_SCHEMA
    values = dict(frame.select("name", "value").iter_rows())
    assert json.loads(values["learning_rate"]) == 2e-5
    assert values["loss_type"] == '"grpo"'


@settings(deadline=None)
@given(st.floats(0, 1e-1), st.integers(1, 1000), st.sampled_from(["grpo", "dapo"]))
def test_a_stored_configuration_is_read_back_exactly(rate, steps, loss):
    resolved = resolve(learning_rate=rate, max_steps=steps, loss_type=loss)
    assert config_from_frame(to_frame(resolved)) == resolved.config


def test_a_stored_configuration_that_lacks_a_field_is_refused():
    frame = to_frame(resolve())
    with pytest.raises(TrainingError, match="lacks seed"):
        config_from_frame(frame.filter(pl.col("name") != "seed"))
    with pytest.raises(TrainingError, match=f"for {len(TrainingConfig.model_fields)} settings"):
        config_from_frame(pl.concat([frame, frame.head(1)]))


def test_a_stored_configuration_with_a_strange_field_is_refused():
    strange = pl.DataFrame([("colour", "1", "default", "", "")], schema=CONFIG_SCHEMA, orient="row")
    with pytest.raises(TrainingError, match="colour"):
        config_from_frame(pl.concat([to_frame(resolve()), strange]))


OWN = [
    ("environment", "envs/one.py:One"),
    ("agent", "package.module:Agent"),
    ("tools", "t.py:T"),
    ("reward", "r.py:r"),
    ("engine_wrapper", "w.py"),
    ("dataset_path", "tasks.jsonl"),
]


@pytest.mark.parametrize(("name", "value"), OWN)
def test_which_code_or_data_is_read_neither_a_skill_nor_a_sentence_can_say(name: str, value: str):
    with pytest.raises(TrainingError, match=f"rllm-config/optimisation sets {name} .*--set {name}={value}"):
        resolve(setting(name, value))
    with pytest.raises(TrainingError, match=f"sets {name} to .*by a flag"):
        resolve(request=f"{name}={value}")
    assert getattr(resolve(**{name: value}).config, name) == value


def test_a_part_that_is_shipped_may_be_chosen_by_a_skill_or_a_sentence():
    assert resolve(setting("environment", "math_calc")).config.environment == "math_calc"
    assert resolve(request="reward=binary").config.reward == "binary"
