"""What is said to verl. That verl understands it is a test of its own environment (test_verl_real)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.verl_overrides import VerlFiles, overrides, runtime_variables
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig

FILES = VerlFiles(Path("/runs/r1/verl"))
MODEL = Path("/policies/base")


def said(config=None, settings=None, ray=None, files=FILES):
    lines = overrides(
        config or TrainingConfig(), settings or VerlSettings(), ray or RaySettings(), MODEL, files
    )
    return dict(line.partition("=")[::2] for line in lines)


def test_names_are_said_once():
    lines = overrides(TrainingConfig(), VerlSettings(), RaySettings(), MODEL, FILES)
    names = [line.partition("=")[0] for line in lines]
    assert len(names) == len(set(names))


def test_grpo_is_said_in_verls_words():
    found = said(
        TrainingConfig(
            learning_rate=6e-4, num_generations=4, prompts_per_step=8, temperature=0.9, epsilon=0.1,
            epsilon_high=0.3, adam_beta2=0.95, seed=7, warmup_steps=3, max_grad_norm=0.5, entropy_coef=0.01,
        )
    )  # fmt: skip
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    assert found["algorithm.adv_estimator"] == "'grpo'"
    assert float(found[f"{actor}.optim.lr"]) == 6e-4
    assert found[f"{actor}.optim.betas"] == "[0.9,0.95]"
    assert found[f"{actor}.optim.lr_warmup_steps"] == "3"
    assert found[f"{actor}.optim.clip_grad"] == found[f"{actor}.grad_clip"] == "0.5"
    assert (found[f"{actor}.clip_ratio_low"], found[f"{actor}.clip_ratio_high"]) == ("0.1", "0.3")
    assert found[f"{actor}.entropy_coeff"] == "0.01"
    assert (found[f"{rollout}.n"], found["data.train_batch_size"]) == ("4", "8")
    assert found[f"{rollout}.temperature"] == "0.9"
    assert found["data.seed"] == found[f"{rollout}.seed"] == "7"
    assert found["data.shuffle"] == "false"
    assert found["trainer.device"] == "'cuda'"


def test_a_kl_term_needs_a_reference_and_none_is_made_without_it():
    assert said(TrainingConfig(beta=0.04))["actor_rollout_ref.actor.use_kl_loss"] == "true"
    assert said()["actor_rollout_ref.actor.use_kl_loss"] == "false"
    assert said(TrainingConfig(beta=0.04))["algorithm.use_kl_in_reward"] == "false"


@pytest.mark.parametrize(
    ("ours", "verls"),
    [("grpo", "seq-mean-token-mean"), ("dapo", "token-mean"), ("dr_grpo", "seq-mean-token-sum-norm")],
)
def test_losses_are_added_up_as_asked(ours, verls):
    found = said(TrainingConfig(loss_type=ours, max_completion_length=77))
    assert found["actor_rollout_ref.actor.loss_agg_mode"] == f"'{verls}'"
    assert found["actor_rollout_ref.actor.loss_scale_factor"] == "77"


def test_the_last_step_is_always_saved():
    assert said(TrainingConfig(save_steps=0, max_steps=30))["trainer.save_freq"] == "30"
    assert said(TrainingConfig(save_steps=7, max_steps=30))["trainer.save_freq"] == "7"
    assert said(TrainingConfig(save_steps=50, max_steps=30))["trainer.save_freq"] == "30"
    found = said(TrainingConfig(save_steps=1, max_steps=30, num_iterations=3))
    assert found["trainer.save_freq"] == "10"


def test_megatron_has_names_of_its_own():
    settings = VerlSettings(strategy="megatron", devices_per_node=4, train_tensor_parallel=2, offload=True)
    lines = overrides(TrainingConfig(), settings, RaySettings(), MODEL, FILES)
    assert lines[0] == "model_engine=megatron"
    assert "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2" in lines
    assert not [line for line in lines if "fsdp" in line]


def test_a_cluster_is_joined_by_its_address():
    found = said(ray=RaySettings(address="head:6379", namespace="evo"))
    assert found["+ray_kwargs.ray_init.address"] == "'head:6379'"
    assert found["+ray_kwargs.ray_init.namespace"] == "'evo'"


def test_a_cluster_that_nobody_named_is_not_joined():
    """Left to itself, Ray joins whatever cluster runs on the machine, be it another person's."""
    assert said()["+ray_kwargs.ray_init.address"] == "'local'"
    job = RaySettings(submit="job", dashboard="http://head:8265")
    assert "+ray_kwargs.ray_init.address" not in said(ray=job)


def test_what_would_be_read_as_grammar_is_quoted_or_refused():
    files = VerlFiles(Path("/runs/it's a, [run]"))
    assert said(files=files)["data.train_files"] == r"['/runs/it\'s a, [run]/train.parquet']"
    with pytest.raises(TrainingError, match="read as a reference"):
        said(files=VerlFiles(Path("/runs/${oc.env:HOME}")))


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30))
def test_a_value_never_ends_its_quotes(text):
    try:
        line = runtime_variables({"NAME": text})[0]
    except TrainingError:
        assert "${" in text or "\\" in text
        return
    value = line.partition("=")[2]
    assert value[0] == value[-1] == "'"
    assert value[1:-1].replace("\\'", "").count("'") == 0
    assert value[1:-1].replace("\\'", "'") == text
