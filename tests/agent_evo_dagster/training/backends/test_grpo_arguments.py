import pytest

from agent_evo_dagster.training.backends.grpo_arguments import MAX_ROWS, grpo_arguments, micro_batch
from agent_evo_dagster.training.config import TrainingConfig

# Fields that TRL has under another name, or that are not TRL's to know.
ELSEWHERE = {
    "backend", "model", "dataset", "prompts_per_step", "max_turns", "max_new_tokens", "threads",
    "evaluation_tasks", "evaluation_samples",
}  # fmt: skip


def test_every_setting_reaches_trl_under_its_own_name(tmp_path, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    config = TrainingConfig(
        learning_rate=3e-4, max_steps=7, prompts_per_step=6, num_generations=4, temperature=0.9, beta=0.01,
        epsilon=0.1, epsilon_high=0.3, loss_type="dr_grpo", scale_rewards="batch", max_grad_norm=0.5,
        adam_beta2=0.9, warmup_steps=1, seed=3, num_iterations=2, max_completion_length=77,
        entropy_coef=0.03,
    )  # fmt: skip
    arguments = grpo_arguments(config, tmp_path)
    for name in TrainingConfig.model_fields.keys() - ELSEWHERE:
        assert getattr(arguments, name) == getattr(config, name), name
    assert arguments.generation_batch_size == 24
    assert arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps == 24


@pytest.mark.parametrize(
    ("batch", "rows"), [(128, 128), (256, 256), (512, 256), (384, 192), (257, 1), (4, 4)]
)
def test_a_micro_batch_divides_the_batch_and_is_bounded(batch, rows):
    assert micro_batch(batch) == rows
    assert rows <= MAX_ROWS
