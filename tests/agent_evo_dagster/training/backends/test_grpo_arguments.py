import pytest

from agent_evo_dagster.training.backends.grpo_arguments import grpo_arguments, micro_batch, save_interval
from agent_evo_dagster.training.breaker import BreakerSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import Placement

CPU = Placement("cpu", "float32")

# Fields that TRL has under another name, or that are not TRL's to know.
ELSEWHERE = {
    "backend", "model", "dataset", "prompts_per_step", "max_turns", "max_new_tokens", "threads",
    "evaluation_tasks", "evaluation_samples", "device", "dtype", "lora_rank", "lora_alpha",
    "micro_batch_size", "save_steps", *BreakerSettings.model_fields,
    "dataset_path", "question_field", "answer_field", "answer_type", "max_question_characters", "environment",
    "agent", "tools", "reward", "engine_wrapper", "tool_format", "tool_listing", "memory", "summary_fallback",
    "context_length", "tool_seconds", "turn_seconds", "rollout_seconds", "refills", "truncated",
}  # fmt: skip


def test_every_setting_reaches_trl_under_its_own_name(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    config = TrainingConfig(
        learning_rate=3e-4, max_steps=7, prompts_per_step=6, num_generations=4, temperature=0.9, beta=0.01,
        epsilon=0.1, epsilon_high=0.3, loss_type="dr_grpo", scale_rewards="batch", max_grad_norm=0.5,
        adam_beta2=0.9, warmup_steps=1, seed=3, num_iterations=2, max_completion_length=77,
        entropy_coef=0.03, weight_decay=0.02, gradient_checkpointing=True,
    )  # fmt: skip
    arguments = grpo_arguments(config, tmp_path, CPU)
    for name in TrainingConfig.model_fields.keys() - ELSEWHERE:
        assert getattr(arguments, name) == getattr(config, name), name
    assert arguments.generation_batch_size == 24
    assert arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps == 24


@pytest.mark.parametrize(
    ("batch", "rows"), [(128, 128), (256, 256), (512, 256), (384, 192), (257, 1), (4, 4)]
)
def test_a_micro_batch_divides_the_batch_and_is_bounded(batch, rows):
    assert micro_batch(batch, 256) == rows
    assert batch % rows == 0


def test_precision_is_that_of_the_placement(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    chosen = grpo_arguments(TrainingConfig(), tmp_path, Placement("cpu", "bfloat16"))
    assert (chosen.bf16, chosen.fp16, chosen.use_cpu) == (True, False, True)
    assert not grpo_arguments(TrainingConfig(), tmp_path, CPU).bf16


def test_states_are_saved_only_where_they_are_kept(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    kept = grpo_arguments(TrainingConfig(save_steps=3), tmp_path, CPU, saves=True)
    assert (str(kept.save_strategy), kept.save_steps) == ("SaveStrategy.STEPS", 3)
    for config, saves in ((TrainingConfig(), False), (TrainingConfig(save_steps=0), True)):
        assert str(grpo_arguments(config, tmp_path, CPU, saves=saves).save_strategy) == "SaveStrategy.NO"


@pytest.mark.parametrize(("asked", "passes", "steps"), [(5, 1, 5), (5, 2, 6), (4, 4, 4), (1, 3, 3)])
def test_a_state_never_falls_between_two_passes_over_a_batch(asked, passes, steps):
    assert save_interval(TrainingConfig(save_steps=asked, num_iterations=passes)) == steps
