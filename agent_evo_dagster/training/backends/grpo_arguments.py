"""The configuration as TRL's own arguments. No default of TRL's that decides a run is left to TRL."""

from pathlib import Path
from typing import Any

from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import Placement


def grpo_arguments(config: TrainingConfig, output_dir: Path, place: Placement, *, saves: bool = False) -> Any:
    """TRL's GRPOConfig. TRL itself writes nothing but states to go on from: the rest is the worker's."""
    from trl import GRPOConfig

    batch = config.prompts_per_step * config.num_generations
    rows = micro_batch(batch, config.micro_batch_size)
    saves = saves and config.save_steps > 0
    return GRPOConfig(
        output_dir=str(output_dir),
        seed=config.seed,
        max_steps=config.max_steps,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=config.warmup_steps,
        per_device_train_batch_size=rows,
        gradient_accumulation_steps=batch // rows,
        generation_batch_size=batch,
        num_generations=config.num_generations,
        num_iterations=config.num_iterations,
        max_completion_length=config.max_completion_length,
        temperature=config.temperature,
        beta=config.beta,
        entropy_coef=config.entropy_coef,
        epsilon=config.epsilon,
        epsilon_high=config.epsilon_high,
        loss_type=config.loss_type,
        scale_rewards=config.scale_rewards,
        max_grad_norm=config.max_grad_norm,
        adam_beta2=config.adam_beta2,
        weight_decay=config.weight_decay,
        use_cpu=place.device == "cpu",
        bf16=place.dtype == "bfloat16",
        fp16=place.dtype == "float16",
        activation_checkpointing=config.gradient_checkpointing,
        shuffle_dataset=False,  # the order of the problems is the task stream's
        dataloader_num_workers=0,
        logging_steps=1,
        logging_nan_inf_filter=False,  # a NaN is reported, not replaced
        log_completions=False,
        report_to=[],
        save_strategy="steps" if saves else "no",
        save_steps=save_interval(config) if saves else 1,
        disable_tqdm=True,
    )


def micro_batch(batch: int, most: int) -> int:
    """Rows of one forward and backward pass: at most `most`, and a divisor of the batch."""
    return max(rows for rows in range(1, min(batch, most) + 1) if batch % rows == 0)


def save_interval(config: TrainingConfig) -> int:
    """Steps between states: a multiple of the passes over one batch, which no state holds."""
    return -(-config.save_steps // config.num_iterations) * config.num_iterations
