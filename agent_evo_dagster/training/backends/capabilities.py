"""What each backend does with each setting: one table, read by the check before a run and by the docs.

A setting that a backend cannot honour is an error, never a silent default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.breaker import BreakerSettings
from agent_evo_dagster.training.config import TrainingConfig

Backend = Literal["hf", "verl", "mindspeed_rl"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


@dataclass(frozen=True)
class Support:
    """How a backend honours a setting."""

    target: str = "yes"  # the backend's own name for it
    only: tuple[object, ...] = ()  # the values that it can do; empty: all
    fixed: bool = False  # it cannot do it: the setting must stay as it is by default
    unless: Callable[[TrainingConfig], str | None] | None = None  # what else speaks against the value
    note: str = ""


YES = Support()
NO = Support("no", fixed=True)
OURS = Support("our rollout")
WORKER = Support("worker")

# Decided outside of the trainer, whichever it is.
_OF_THE_WORKER = (
    "backend", "model", "threads", "evaluation_tasks", "evaluation_samples", *BreakerSettings.model_fields,
)  # fmt: skip

# Decided by environments, agents and our rollout, which hf and verl share.
_OF_THE_ROLLOUT = (
    "dataset", "dataset_path", "question_field", "answer_field", "answer_type", "max_question_characters",
    "environment", "agent", "tools", "reward", "engine_wrapper", "tool_format", "tool_listing",
    "summary_fallback", "max_turns", "max_new_tokens", "context_length", "tool_seconds", "turn_seconds",
    "rollout_seconds", "truncated",
)  # fmt: skip


def _one_clip(config: TrainingConfig) -> str | None:
    """MindSpeed-RL has one clip range."""
    if config.epsilon_high == config.epsilon:
        return None
    return f"it has one clip range: set epsilon_high to epsilon ({config.epsilon:g})"


def _whole_batches(config: TrainingConfig) -> str | None:
    if config.max_steps % config.num_iterations == 0:
        return None
    return f"it trains whole batches: make it a multiple of num_iterations ({config.num_iterations})"


_ACTOR, _ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"

_VERL: Mapping[str, Support] = MappingProxyType(
    {
        "seed": Support("data.seed, actor and rollout seed"),
        "learning_rate": Support(f"{_ACTOR}.optim.lr"),
        "warmup_steps": Support(f"{_ACTOR}.optim.lr_warmup_steps"),
        "max_steps": Support("trainer.total_training_steps", unless=_whole_batches),
        "prompts_per_step": Support("data.train_batch_size"),
        "num_generations": Support(f"{_ROLLOUT}.n"),
        "num_iterations": Support(f"{_ACTOR}.ppo_epochs"),
        "temperature": Support(f"{_ROLLOUT}.temperature"),
        "beta": Support(f"{_ACTOR}.kl_loss_coef"),
        "entropy_coef": Support(f"{_ACTOR}.entropy_coeff"),
        "epsilon": Support(f"{_ACTOR}.clip_ratio_low"),
        "epsilon_high": Support(f"{_ACTOR}.clip_ratio_high"),
        "loss_type": Support(f"{_ACTOR}.loss_agg_mode", only=("grpo", "dapo", "dr_grpo")),
        "scale_rewards": Support("algorithm.norm_adv_by_std_in_grpo", only=("group", "none")),
        "max_grad_norm": Support(f"{_ACTOR}.optim.clip_grad"),
        "adam_beta2": Support(f"{_ACTOR}.optim.betas"),
        "weight_decay": Support(f"{_ACTOR}.optim.weight_decay"),
        "max_completion_length": Support("data.max_response_length"),
        "device": Support("trainer.device", only=("auto", "cuda", "npu"), note="auto is cuda"),
        "dtype": Support("bfloat16", only=("auto", "bfloat16")),
        "lora_rank": Support("actor_rollout_ref.model.lora_rank"),
        "lora_alpha": Support("actor_rollout_ref.model.lora_alpha"),
        "gradient_checkpointing": Support("actor_rollout_ref.model.enable_gradient_checkpointing"),
        "micro_batch_size": Support(f"{_ACTOR}.ppo_micro_batch_size_per_gpu"),
        "save_steps": Support("trainer.save_freq"),
        "memory": Support("our rollout", only=("none", "simple"), note="nobody there summarises"),
        "refills": Support("one new group", only=(1,), note="verl replaces a failed group"),
    }
)

_MINDSPEED: Mapping[str, Support] = MappingProxyType(
    {
        "seed": Support("megatron_training.seed"),
        "learning_rate": Support("actor_config.lr"),
        "warmup_steps": Support("actor_config.lr_warmup_fraction"),
        "max_steps": Support("megatron_training.train_iters"),
        "prompts_per_step": Support("megatron_training.global_batch_size"),
        "num_generations": Support("rl_config.n_samples_per_prompt"),
        "num_iterations": Support("rl_config.epochs", only=(1,)),
        "temperature": Support("generate_config.sampling_config.temperature"),
        "beta": Support("rl_config.init_kl_coef"),
        "entropy_coef": Support("rl_config.entropy_coeff"),
        "epsilon": Support("rl_config.clip_ratio"),
        "epsilon_high": Support("rl_config.clip_ratio", unless=_one_clip),
        "loss_type": Support("sample mean", only=("grpo",)),
        "scale_rewards": Support("rl_config.adv_estimator", only=("group",)),
        "max_grad_norm": Support("actor_config.clip_grad"),
        "adam_beta2": Support("actor_config.adam_beta2"),
        "weight_decay": Support("actor_config.weight_decay"),
        "max_turns": Support("one turn", only=(1,)),
        "max_new_tokens": Support(
            "generate_config.sampling_config.max_tokens",
            unless=lambda config: (
                None
                if config.max_new_tokens == config.max_completion_length
                else "its one turn is the completion: set it to max_completion_length"
            ),
        ),
        "max_completion_length": Support("generate_config.sampling_config.max_tokens"),
        "device": Support("npu", only=("npu",)),
        "dtype": Support("bfloat16", only=("auto", "bfloat16")),
        "gradient_checkpointing": Support("megatron_training.recompute_granularity"),
        "micro_batch_size": Support("actor_config.micro_batch_size"),
        "save_steps": Support("megatron_training.save_interval"),
        "lora_alpha": WORKER,  # nothing without a rank, which it has not
    }
)

_HF: Mapping[str, Support] = MappingProxyType(
    {
        "entropy_coef": Support("our loss term"),
        "device": Support("torch device"),
        "refills": OURS,
        "memory": OURS,
        "lora_rank": Support("peft r"),
        "lora_alpha": Support("peft lora_alpha"),
        "micro_batch_size": Support("per_device_train_batch_size"),
        "dtype": Support("bf16, fp16"),
        "prompts_per_step": Support("generation_batch_size"),
    }
)


def support(backend: Backend, name: str) -> Support:
    """How `backend` honours the setting `name`.

    Raises:
        TrainingError: nobody has said.
    """
    if name in _OF_THE_WORKER:
        return WORKER
    if backend == "hf":
        return _HF.get(name, OURS if name in _OF_THE_ROLLOUT else Support(name))
    table = _VERL if backend == "verl" else _MINDSPEED
    if name in table:
        return table[name]
    if backend == "verl" and name not in _OF_THE_ROLLOUT:
        raise TrainingError(f"Nobody has said what verl does with {name}: say it in backends/capabilities.")
    return OURS if backend == "verl" else NO


def refuse_unsupported(config: TrainingConfig) -> None:
    """Refuse a configuration that its backend cannot honour.

    Raises:
        TrainingError: each such setting, with what the backend can do.
    """
    found = [
        f"{name} = {value!r}: {problem}"
        for name, value in config.model_dump().items()
        if (problem := _problem(config, name, value))
    ]
    if found:
        raise TrainingError(f"The backend {config.backend} cannot do:\n  " + "\n  ".join(found))


def _problem(config: TrainingConfig, name: str, value: object) -> str | None:
    how = support(config.backend, name)
    default = TrainingConfig.model_fields[name].default
    if how.fixed and value != default:
        return f"it has no such setting; leave it at {default!r}"
    if how.only and value not in how.only:
        return f"it can do {', '.join(map(str, how.only))}"
    return how.unless(config) if how.unless else None


def capability_table() -> str:
    """The whole table as Markdown, a row for each setting."""
    lines = ["| setting | " + " | ".join(BACKENDS) + " |", "|---" * (len(BACKENDS) + 1) + "|"]
    for name in TrainingConfig.model_fields:
        cells = [_cell(support(backend, name)) for backend in BACKENDS]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(how: Support) -> str:
    parts = [f"`{how.target}`" if "." in how.target or "_" in how.target else how.target]
    if how.only:
        parts.append("only " + ", ".join(map(str, how.only)))
    if how.note:
        parts.append(how.note)
    return "; ".join(parts)
