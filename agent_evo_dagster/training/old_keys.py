"""What each key of an `agentic_rl` configuration is called here. Data; files are read in config_file.

A key is a setting, a place in the deployment, a label that decides nothing, or a wish with one answer here:
a value other than that answer is refused, since it would be ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """Fields of TrainingConfig that take the value, after `convert`."""

    names: tuple[str, ...]
    convert: Callable[[Value], Value] = lambda value: value


@dataclass(frozen=True, slots=True)
class Place:
    """Dotted fields of the deployment that take the value."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Only:
    """The values that ask for what is done here anyway."""

    values: tuple[Value | None, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Label:
    """Decides nothing here; the reader is told why."""

    why: str


Meaning = Setting | Place | Only | Label

_LOSSES = MappingProxyType({"token-mean": "dapo", "seq-mean-token-mean": "grpo"})


def _loss(value: Value) -> Value:
    return _LOSSES.get(str(value), value)  # an unknown one is refused by the field, by name


def _setting(*names: str) -> Setting:
    return Setting(names)


def _place(*paths: str) -> Place:
    return Place(paths)


_FULL_SOFTMAX = "a policy is trained on the distribution that it is sampled from, which is the whole one"
_GRPO = "advantages are those of GRPO, over whole rollouts"
_OFFLOAD = _place("verl.offload")

SHARED: Mapping[str, Meaning] = MappingProxyType(
    {
        "train_backend": _setting("backend"),
        "tokenizer_name_or_path": _setting("model"),
        "model_name": Label("the policy is the folder in tokenizer_name_or_path"),
        "agent_name": Label("the agent is the one that agent_engine_wrapper_path brings"),
        "agent_engine_wrapper_path": _setting("engine_wrapper"),
        "use_stepwise_advantage": Only((False,), _GRPO),
        "max_steps": _setting("max_turns"),
        "use_tensorboard": Label("metrics are in Dagster and in metrics.jsonl"),
        "test_before_train": Label("every round evaluates before and after training"),
        "test_only": Only((False,), "a round trains, and evaluates before and after"),
        "infer_tensor_parallel_size": _place("verl.rollout_tensor_parallel", "vllm.tensor_parallel"),
        "infer_pipeline_parallel_size": Only((1,), "sampling is not split over a row of layers"),
        "infer_expert_parallel_size": Only((1,), "experts are not split for sampling"),
        "max_num_seqs": _place("vllm.max_num_seqs"),
        "max_num_batched_tokens": Label("the server chooses it"),
        "max_model_len": _place("vllm.max_model_len"),
        "gpu_memory_utilization": _place("verl.memory_utilization", "vllm.memory_utilization"),
        "max_tokens": _setting("max_new_tokens"),
        "enable_prefix_caching": Label("the server chooses it"),
        "num_scheduler_steps": Label("the server chooses it"),
        "offload_train_optimizer": _OFFLOAD,
        "offload_train_grad": _OFFLOAD,
        "offload_train_param": _OFFLOAD,
        "enable_expert_parallel": Only((False,), "experts are not split for sampling"),
        "trust_remote_code": Only((False,), "code that comes with a checkpoint is never run"),
        "dtype": _setting("dtype"),
        "top_k": Only((0, -1), _FULL_SOFTMAX),
        "top_p": Only((1.0,), _FULL_SOFTMAX),
        "min_p": Only((0.0,), _FULL_SOFTMAX),
        "temperature": _setting("temperature"),
        "enforce_eager": _place("verl.enforce_eager", "vllm.enforce_eager"),
        "use_kl_in_reward": Only((False,), "the KL term is in the loss; its weight is beta"),
        "clip_ratio": _setting("epsilon", "epsilon_high"),
        "entropy_coeff": _setting("entropy_coef"),
        "kl_penalty": Only(("low_var_kl",), "the KL term is the k3 estimate, which is low_var_kl"),
        "kl_coef": _setting("beta"),
        "gamma": Only((1.0,), _GRPO),
        "lam": Only((1.0,), _GRPO),
        "kl_horizon": Label("the weight of the KL term is fixed"),
        "kl_target": Label("the weight of the KL term is fixed"),
        "kl_ctrl_type": Only(("fixed",), "the weight of the KL term is fixed"),
        "lr": _setting("learning_rate"),
        "min_lr": Only((0.0,), "the learning rate stays where the warm-up brings it"),
        "lr_warmup_fraction": Setting(("warmup_steps",)),  # of the steps: the reader knows how many
        "clip_grad": _setting("max_grad_norm"),
        "weight_decay": _setting("weight_decay"),
        "num_gpus_per_node": _place("verl.devices_per_node"),
        "num_node": _place("verl.nodes"),
        "max_prompt_length": _place("verl.max_prompt_length"),
        "rollout_n": _setting("num_generations"),
        "actor_rollout_dispatch_size": Label("rollouts are batched by what memory allows"),
        "dataset_additional_keys": Label("columns are found by name; see question_field and answer_field"),
    }
)

VERL: Mapping[str, Meaning] = MappingProxyType(
    {
        "train_files": _setting("dataset_path"),
        "val_files": Label("held-out tasks are split off by the hash of each task"),
        "total_epochs": Label("a run ends after max_steps; tasks come in the order of the seed"),
        "total_training_steps": _setting("max_steps"),
        "save_freq": _setting("save_steps"),
        "ppo_mini_batch_size": Label("a step takes its whole batch, in micro-batches that memory allows"),
        "ppo_max_token_len_per_gpu": Label("micro-batches are counted in rows: micro_batch_size"),
        "ppo_epochs": _setting("num_iterations"),
        "project_name": Label("a run is named by its round"),
        "experiment_name": Label("a run is named by its round"),
        "max_response_length": _setting("max_completion_length"),
        "train_batch_size": _setting("prompts_per_step"),
        "val_batch_size": _place("verl.validation_tasks"),
        "dataloader_num_workers": Label("tasks are in memory"),
        "nnodes": _place("verl.nodes"),
        "adv_estimator": Only(("grpo",), _GRPO),
        "warmup_style": Only(("constant",), "the learning rate stays where the warm-up brings it"),
        "ckpt_content": Label("checkpoints are merged to the Hugging Face layout"),
        "policy_loss_mode": Only(("vanilla",), "the loss is the clipped one of GRPO"),
        "fsdp_param_offload": _OFFLOAD,
        "fsdp_optimizer_offload": _OFFLOAD,
        "loss_agg_mode": Setting(("loss_type",), _loss),
        "use_kl_loss": Label("the weight of the KL term says it: beta"),
        "kl_loss_coef": _setting("beta"),
        "kl_loss_type": Only(("low_var_kl",), "the KL term is the k3 estimate, which is low_var_kl"),
        "grad_clip": _setting("max_grad_norm"),
        "balance_batch": Label("verl balances its batches"),
        "val_before_train": Label("every round evaluates before and after training"),
        "val_only": Only((False,), "a round trains"),
        "test_freq": _place("verl.validate_every"),
        "truncation": Only(("error",), "a prompt that does not fit is an error"),
    }
)

MINDSPEED_RL: Mapping[str, Meaning] = MappingProxyType(
    {
        "data_path": _place("mindspeed_rl.data_path"),
        "test_data_path": Label("held-out tasks are split off by the hash of each task"),
        "load_params_path": _place("mindspeed_rl.load"),
        "save_params_path": Label("a run keeps what it makes in its own folder"),
        "epochs": Label("a run ends after max_steps; tasks come in the order of the seed"),
        "seq_length": _setting("max_completion_length"),
        "global_batch_size": _setting("prompts_per_step"),
        "save_interval": _setting("save_steps"),
        "train_iters": _setting("max_steps"),
        "mini_batch_size": Label("a step takes its whole batch, in micro-batches that memory allows"),
        "micro_batch_size": _setting("micro_batch_size"),
        "tensor_model_parallel_size": _place("mindspeed_rl.tensor_parallel"),
        "pipeline_model_parallel_size": _place("mindspeed_rl.pipeline_parallel"),
        "expert_model_parallel_size": Only((1,), "experts are not split"),
        "adv_estimator": Only(("group_norm",), _GRPO),
    }
)
NESTED: Mapping[str, Mapping[str, Meaning]] = MappingProxyType({"verl": VERL, "mindspeed_rl": MINDSPEED_RL})
