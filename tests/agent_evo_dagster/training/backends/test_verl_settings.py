"""Settings of verl and of Ray: what can be laid out, what is refused, what reaches the processes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent_evo_dagster.errors import SettingsError, TrainingError
from agent_evo_dagster.training.backends.ray_environment import ray_environment
from agent_evo_dagster.training.backends.ray_settings import RaySettings, RayTls
from agent_evo_dagster.training.backends.verl_overrides import batches, rows_per_pass
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"train_tensor_parallel": 2}, "strategy: megatron"),
        ({"strategy": "megatron", "train_tensor_parallel": 2}, "1 devices cannot be split into groups of 2"),
        ({"devices_per_node": 4, "rollout_tensor_parallel": 3}, "does not divide"),
        ({"engine": "hf"}, "Input should be"),
        ({"gpus": 8}, "Extra inputs"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(settings, said):
    with pytest.raises(ValidationError, match=said):
        VerlSettings.model_validate(settings)


@given(
    prompts=st.integers(1, 64),
    group=st.integers(2, 16),
    most=st.integers(1, 300),
    devices=st.sampled_from([1, 2, 4, 8]),
)
def test_rows_of_a_pass_divide_the_batch_and_stay_below_the_limit(prompts, group, most, devices):
    config = TrainingConfig(prompts_per_step=prompts, num_generations=group, micro_batch_size=most)
    settings = VerlSettings(devices_per_node=devices)
    if prompts * group % devices:
        with pytest.raises(TrainingError, match="cannot be split over"):
            rows_per_pass(config, settings)
        return
    rows = rows_per_pass(config, settings)
    assert rows <= most
    assert (prompts * group // devices) % rows == 0


def test_steps_are_counted_in_batches():
    assert batches(TrainingConfig(max_steps=12, num_iterations=3)) == 4
    with pytest.raises(TrainingError, match="no multiple of num_iterations 5"):
        batches(TrainingConfig(max_steps=12, num_iterations=5))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"submit": "job"}, "needs `dashboard`"),
        ({"dashboard": "http://head:8265"}, "submit: job alone"),
        ({"submit": "job", "dashboard": "http://h:1", "address": "h:6379"}, "leave out `address`"),
        ({"address": "auto", "num_cpus": 4}, "num_cpus is of a Ray that is started here"),
        ({"env": {"HF_TOKEN": "hf_abc"}}, "HF_TOKEN looks like a secret.*env_from"),
        ({"env": {"WANDB_API_KEY": "x"}}, "looks like a secret"),
        ({"address": "h:6379", "env_from": ["HF_TOKEN"]}, "shown in verl's log: use submit: job"),
        ({"env": {"A B": "x"}}, "no name of a variable"),
    ],
)
def test_a_cluster_that_cannot_be_reached_so_is_refused(settings, said):
    with pytest.raises(ValidationError, match=said):
        RaySettings.model_validate(settings)


def test_the_certificates_and_the_token_reach_ray_by_path(tmp_path):
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / name).write_text("x")
    tls = RayTls(ca=tmp_path / "ca", cert=tmp_path / "cert", key=tmp_path / "key")
    found = ray_environment(RaySettings(tls=tls, token_file=tmp_path / "token"), {})
    wanted = {
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": str(tmp_path / "ca"),
        "RAY_TLS_SERVER_CERT": str(tmp_path / "cert"),
        "RAY_TLS_SERVER_KEY": str(tmp_path / "key"),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token"),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    assert wanted.items() <= found.items()


def test_without_protection_none_is_claimed():
    assert not [name for name in ray_environment(RaySettings(), {}) if "TLS" in name or "AUTH" in name]


def test_a_certificate_or_token_that_is_not_there_is_named(tmp_path):
    (tmp_path / "empty").write_text("")
    tls = RayTls(ca=tmp_path / "ca", cert=tmp_path / "cert", key=tmp_path / "key")
    with pytest.raises(SettingsError, match=r"ray\.tls\.ca names .*ca, which is no file"):
        ray_environment(RaySettings(tls=tls), {})
    with pytest.raises(SettingsError, match=r"empty, which holds no token"):
        ray_environment(RaySettings(token_file=tmp_path / "empty"), {})


def test_secrets_are_taken_from_the_workers_environment_and_never_written_down():
    settings = RaySettings(env={"NCCL_DEBUG": "WARN"}, env_from=("HF_TOKEN",))
    assert "secret-value" not in settings.model_dump_json()
    found = ray_environment(settings, {"HF_TOKEN": "secret-value"})
    assert (found["HF_TOKEN"], found["NCCL_DEBUG"]) == ("secret-value", "WARN")
    with pytest.raises(SettingsError, match="HF_TOKEN, which the worker's environment does not have"):
        ray_environment(settings, {})
