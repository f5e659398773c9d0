"""A configuration in a file: each key is taken, told, or refused by name. None is passed over."""

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_file import read_config_file
from agent_evo_dagster.training.config_sources import resolve_config
from agent_evo_dagster.training.old_keys import NESTED, SHARED, Place, Setting

OLD = {
    "tokenizer_name_or_path": "/models/qwen",
    "model_name": "qwen2.5-7b",
    "agent_name": "math",
    "agent_engine_wrapper_path": "/models/wrapper.py",
    "train_backend": "verl",
    "max_steps": 4,
    "max_tokens": 512,
    "top_p": 1.0,
    "temperature": 0.8,
    "rollout_n": 8,
    "lr": 5e-6,
    "lr_warmup_fraction": 0.1,
    "entropy_coeff": 0.01,
    "clip_ratio": 0.2,
    "num_gpus_per_node": 4,
    "gpu_memory_utilization": 0.7,
    "verl": {
        "train_files": "/data/train.parquet",
        "val_files": "/data/test.parquet",
        "total_training_steps": 100,
        "train_batch_size": 16,
        "max_response_length": 1024,
        "ppo_epochs": 2,
        "loss_agg_mode": "seq-mean-token-mean",
        "kl_loss_coef": 0.001,
        "nnodes": 2,
    },
}


def read(tmp_path, document, name="run.yaml"):
    path = tmp_path / name
    text = json.dumps(document) if name.endswith("json") else yaml.safe_dump(document)
    path.write_text(text, encoding="utf-8")
    return read_config_file(path)


def test_settings_in_our_own_names_are_taken_as_they_are(tmp_path):
    place = {"inference": "local"}
    document = {
        "learning_rate": 1e-4,
        "max_steps": 20,
        "request": "more",
        "deployment": place,
    }
    for name in ("run.yaml", "run.json"):
        found = read(tmp_path, document, name)
        assert found.settings == {"learning_rate": 1e-4, "max_steps": 20}
        assert (found.request, found.deployment) == ("more", place)


def test_a_file_of_agentic_rl_is_mapped(tmp_path):
    found = read(tmp_path, OLD)
    assert found.settings == {
        "backend": "verl",
        "model": "/models/qwen",
        "engine_wrapper": "/models/wrapper.py",
        "max_turns": 4,
        "max_new_tokens": 512,
        "temperature": 0.8,
        "num_generations": 8,
        "learning_rate": 5e-6,
        "warmup_steps": 10,
        "entropy_coef": 0.01,
        "epsilon": 0.2,
        "epsilon_high": 0.2,
        "dataset_path": "/data/train.parquet",
        "max_steps": 100,
        "prompts_per_step": 16,
        "max_completion_length": 1024,
        "num_iterations": 2,
        "loss_type": "grpo",
        "beta": 0.001,
    }
    assert found.deployment["verl"] == {"devices_per_node": 4, "memory_utilization": 0.7, "nodes": 2}
    assert set(found.notes) == {"model_name", "agent_name", "top_p", "verl.val_files"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top_p": 0.9}, "top_p: 0.9 cannot be had, only 1.0: a policy is trained on the distribution"),
        ({"trust_remote_code": True}, "trust_remote_code: True cannot be had"),
        ({"learnrate": 1}, "learnrate is no key of agentic_rl that has a counterpart here"),
        ({"mindspeed_rl": {}}, "mindspeed_rl: is a section of another backend than train_backend: verl"),
        ({"verl": {"adv_estimator": "gae"}}, "verl.adv_estimator: 'gae' cannot be had, only 'grpo'"),
        ({"verl": {"unheard": 1}}, "verl.unheard is no key"),
        ({"verl": 3}, "verl must be a section; it is 3"),
        ({"lr": [1]}, r"lr is \[1\]; a setting has one value"),
    ],
)
def test_what_would_be_ignored_is_refused_by_name(tmp_path, change, message):
    with pytest.raises(TrainingError, match=message):
        read(tmp_path, {**OLD, **change})


def test_all_problems_are_told_at_once(tmp_path):
    with pytest.raises(TrainingError) as caught:
        read(tmp_path, {"nothing": 1, "max_steps": [2], "learning_rate": 1e-4})
    assert "nothing is no training setting" in str(caught.value)
    assert "max_steps is [2]" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("- 1", "expected a mapping of names to values"),
        ("", "asks for nothing"),
        ("1: 2", "expected a mapping"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
        ("max_steps: 3\nmax_steps: 4", "line 2: not valid YAML: 'max_steps' is given twice"),
        ("a: &a [1]\nb: *a", "aliases are not allowed"),
        ("max_steps: 2020-13-41", "not valid YAML"),
        ("max_steps: !!int 'abc'", "not valid YAML"),
        ("max_steps: !!timestamp abc", "not valid YAML"),
        ("max_steps: " + "9" * 5000, "not valid YAML"),
        ("max_steps: [" + "1, " * 9999 + "1]", r"max_steps is \[1, .{60,90}; a setting has one value"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path, text, message):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(TrainingError, match=message):
        read_config_file(tmp_path / "run.yaml")


def test_a_missing_huge_or_special_file_is_refused_at_once(tmp_path):
    with pytest.raises(TrainingError, match="cannot be read"):
        read_config_file(tmp_path / "none.yaml")
    (tmp_path / "huge.yaml").write_text("a" * (2 << 20))
    with pytest.raises(TrainingError, match="has more than 1,048,576 bytes"):
        read_config_file(tmp_path / "huge.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    for special in (tmp_path / "pipe.yaml", Path("/dev/zero"), tmp_path):
        with pytest.raises(TrainingError, match="is no regular file"):
            read_config_file(special)


def test_every_old_key_points_to_something_that_exists():
    from agent_evo_dagster.training.deployment import Deployment

    for meaning in [*SHARED.values(), *(each for section in NESTED.values() for each in section.values())]:
        if isinstance(meaning, Setting):
            assert set(meaning.names) <= TrainingConfig.model_fields.keys()
        elif isinstance(meaning, Place):
            for path in meaning.paths:
                section, name = path.split(".")
                assert name in type(getattr(Deployment(), section)).model_fields, path


@given(
    st.dictionaries(
        st.sampled_from([*SHARED, "unknown", *NESTED]),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        max_size=8,
    )
)
def test_every_key_is_taken_told_or_refused(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("config") / "run.json"
    path.write_text(json.dumps({**document, "train_backend": "verl"}))
    try:
        found = read_config_file(path)
    except TrainingError as error:
        assert str(error)
        return
    for name in document:
        meaning = SHARED[name]
        if name == "lr_warmup_fraction":
            assert "warmup_steps" in found.settings
        elif isinstance(meaning, Setting):
            assert set(meaning.names) <= found.settings.keys()
        elif not isinstance(meaning, Place):
            assert name in found.notes


def test_a_file_wins_over_skills_and_loses_to_the_request_and_flags():
    found = resolve_config(
        skill_settings=[],
        request="lr 1e-5",
        overrides={"max_steps": 7},
        seed=0,
        file={"learning_rate": 1e-4, "max_steps": 20, "beta": 0.1},
    )
    rows = {row.name: (row.value, row.source) for row in found.rows}
    assert rows["learning_rate"] == (1e-5, "request")
    assert rows["max_steps"] == (7, "override")
    assert rows["beta"] == (0.1, "file")


@pytest.mark.parametrize("name", ["nope", "../../x", "a\x1b[31m", "os.system()", "x y:Z", ":Name"])
def test_an_environment_that_can_be_none_is_refused_before_a_round_is_opened(name):
    with pytest.raises(TrainingError, match="environment"):
        resolve_config(skill_settings=[], request="", overrides={"environment": name}, seed=0)


@pytest.mark.parametrize(
    "name", ["math_calc", "mine.py", "/a/mine.py:One", "package.module:One", "module:One"]
)
def test_an_environment_of_ones_own_is_taken_by_its_form(name):
    found = resolve_config(skill_settings=[], request="", overrides={"environment": name}, seed=0)
    assert found.config.environment == name
