"""A training configuration as Hydra overrides of verl 0.9. Every name is checked against verl by a test.

Values that verl decides by default and that change a run's result are written out: a new default of verl's
must not change a run. What a knob may be is in capabilities.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig

Value = str | int | float | bool | None | list[str] | list[float]

AGENT = "agent_evo"
PROJECT = "agent_evo"
NO_DUAL_CLIP = 1e6  # TRL has no second clip of negative advantages; at this bound it never binds

AGGREGATIONS = {"grpo": "seq-mean-token-mean", "dapo": "token-mean", "dr_grpo": "seq-mean-token-sum-norm"}


@dataclass(frozen=True)
class VerlFiles:
    """Where the files of one run lie; all of them below the run's folder, on disks that all nodes share."""

    root: Path

    @property
    def train(self) -> Path:
        """Tasks in the order in which they are trained on."""
        return self.root / "train.parquet"

    @property
    def validation(self) -> Path:
        """Dev tasks."""
        return self.root / "validation.parquet"

    @property
    def agent_loop(self) -> Path:
        """Which class talks to environments, and with what."""
        return self.root / "agent_loop.yaml"

    @property
    def config(self) -> Path:
        """The training configuration, for processes that verl starts."""
        return self.root / "config.json"

    @property
    def rows(self) -> Path:
        """Folder of finished rollouts, token by token, one file for each process that makes them."""
        return self.root / "rows"

    @property
    def rollout_dumps(self) -> Path:
        """Folder of verl's own list of what it trained on, one file for each step."""
        return self.root / "rollout_dumps"

    @property
    def validation_dumps(self) -> Path:
        """Folder of verl's own list of what it validated with, one file for each step."""
        return self.root / "validation_dumps"

    @property
    def metrics(self) -> Path:
        """Verl's metrics, a line for each step."""
        return self.root / "verl_metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Folder of sharded checkpoints."""
        return self.root / "checkpoints"

    @property
    def job(self) -> Path:
        """Names the job of a cluster while it runs; beside the folder, which each try begins anew."""
        return self.root.with_name(f"{self.root.name}.job")

    @property
    def log(self) -> Path:
        """What verl writes to its terminal."""
        return self.root / "verl.log"


def overrides(
    config: TrainingConfig, settings: VerlSettings, ray: RaySettings, model: Path, files: VerlFiles
) -> list[str]:
    """Arguments of `python -m verl.trainer.main_ppo`.

    Raises:
        TrainingError: numbers that cannot be divided over the devices.
    """
    values: dict[str, Value] = {
        **_data(config, settings, files),
        **_model(config, model),
        **_actor(config, settings),
        **_rollout(config, settings, files),
        **_algorithm(config),
        **_trainer(config, settings, files),
        **_ray(ray),
    }
    first = ["model_engine=megatron"] if settings.strategy == "megatron" else []
    return first + [f"{name}={_text(value)}" for name, value in values.items()]


def batches(config: TrainingConfig) -> int:
    """Steps as verl counts them: batches of rollouts, each of which is trained on num_iterations times.

    Raises:
        TrainingError: max_steps, which counts optimiser steps, is no multiple of num_iterations.
    """
    if config.max_steps % config.num_iterations:
        raise TrainingError(
            f"max_steps {config.max_steps} is no multiple of num_iterations {config.num_iterations}: verl "
            "trains whole batches."
        )
    return config.max_steps // config.num_iterations


def rows_per_pass(config: TrainingConfig, settings: VerlSettings) -> int:
    """Rows of one forward and backward pass on a device: the largest divisor that micro_batch_size allows.

    Raises:
        TrainingError: the batch cannot be divided over the devices.
    """
    rows = config.prompts_per_step * config.num_generations
    groups = settings.devices // (settings.train_tensor_parallel * settings.train_pipeline_parallel)
    if rows % groups:
        raise TrainingError(
            f"A batch of {rows} rollouts (prompts_per_step x num_generations) cannot be split over {groups} "
            "groups of devices. Choose numbers that can."
        )
    most = min(config.micro_batch_size, rows // groups)
    return max(size for size in range(1, most + 1) if rows // groups % size == 0)


def _data(config: TrainingConfig, settings: VerlSettings, files: VerlFiles) -> dict[str, Value]:
    return {
        "data.train_files": [str(files.train)],
        "data.val_files": [str(files.validation)],
        "data.train_batch_size": config.prompts_per_step,
        "data.max_prompt_length": settings.max_prompt_length,
        "data.max_response_length": config.max_completion_length,
        "data.truncation": "error",
        "data.filter_overlong_prompts": False,
        "data.return_raw_chat": True,
        "data.shuffle": False,
        "data.seed": config.seed,
        "data.dataloader_num_workers": 0,
    }


def _model(config: TrainingConfig, model: Path) -> dict[str, Value]:
    return {
        "actor_rollout_ref.model.path": str(model),
        "actor_rollout_ref.model.enable_gradient_checkpointing": config.gradient_checkpointing,
        "actor_rollout_ref.model.lora_rank": config.lora_rank,
        "actor_rollout_ref.model.lora_alpha": config.lora_alpha,
    }


def _actor(config: TrainingConfig, settings: VerlSettings) -> dict[str, Value]:
    actor, size = "actor_rollout_ref.actor", rows_per_pass(config, settings)
    return {
        f"{actor}.strategy": settings.strategy,
        f"{actor}.ppo_epochs": config.num_iterations,
        f"{actor}.ppo_mini_batch_size": config.prompts_per_step,
        f"{actor}.ppo_micro_batch_size_per_gpu": size,
        f"{actor}.shuffle": False,
        f"{actor}.data_loader_seed": config.seed,
        f"{actor}.clip_ratio": config.epsilon,
        f"{actor}.clip_ratio_low": config.epsilon,
        f"{actor}.clip_ratio_high": config.epsilon_high,
        f"{actor}.clip_ratio_c": NO_DUAL_CLIP,
        f"{actor}.entropy_coeff": config.entropy_coef,
        f"{actor}.calculate_entropy": True,
        f"{actor}.use_kl_loss": config.beta > 0,
        f"{actor}.kl_loss_coef": config.beta,
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.loss_agg_mode": AGGREGATIONS[config.loss_type],
        f"{actor}.loss_scale_factor": config.max_completion_length,
        f"{actor}.optim.lr": config.learning_rate,
        f"{actor}.optim.lr_warmup_steps": config.warmup_steps,
        f"{actor}.optim.weight_decay": config.weight_decay,
        f"{actor}.optim.betas": [0.9, config.adam_beta2],
        f"{actor}.optim.clip_grad": config.max_grad_norm,
        **_sharding(config, settings),
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": size,
    }


def _sharding(config: TrainingConfig, settings: VerlSettings) -> dict[str, Value]:
    actor = "actor_rollout_ref.actor"
    if settings.strategy == "megatron":
        return {
            f"{actor}.optim.lr_decay_style": "constant",
            f"{actor}.megatron.tensor_model_parallel_size": settings.train_tensor_parallel,
            f"{actor}.megatron.pipeline_model_parallel_size": settings.train_pipeline_parallel,
            f"{actor}.megatron.param_offload": settings.offload,
            f"{actor}.megatron.optimizer_offload": settings.offload,
            f"{actor}.megatron.seed": config.seed,
            # verl refuses these of its FSDP actor there
        }
    return {
        f"{actor}.grad_clip": config.max_grad_norm,
        f"{actor}.optim.lr_scheduler_type": "constant",
        f"{actor}.fsdp_config.param_offload": settings.offload,
        f"{actor}.fsdp_config.optimizer_offload": settings.offload,
        f"{actor}.fsdp_config.dtype": "bfloat16",
        f"{actor}.fsdp_config.seed": config.seed,
    }


def _rollout(config: TrainingConfig, settings: VerlSettings, files: VerlFiles) -> dict[str, Value]:
    rollout = "actor_rollout_ref.rollout"
    return {
        f"{rollout}.name": settings.engine,
        f"{rollout}.mode": "async",
        f"{rollout}.n": config.num_generations,
        f"{rollout}.temperature": config.temperature,
        f"{rollout}.top_p": 1.0,
        f"{rollout}.top_k": -1,
        f"{rollout}.seed": config.seed,
        f"{rollout}.dtype": "bfloat16",
        f"{rollout}.calculate_log_probs": True,
        f"{rollout}.logprobs_mode": "processed_logprobs",
        f"{rollout}.tensor_model_parallel_size": settings.rollout_tensor_parallel,
        f"{rollout}.gpu_memory_utilization": settings.memory_utilization,
        f"{rollout}.enforce_eager": settings.enforce_eager,
        f"{rollout}.max_model_len": settings.max_prompt_length + config.max_completion_length,
        f"{rollout}.log_prob_micro_batch_size_per_gpu": rows_per_pass(config, settings),
        f"{rollout}.multi_turn.enable": True,
        f"{rollout}.agent.num_workers": settings.agent_workers,
        f"{rollout}.agent.default_agent_loop": AGENT,
        f"{rollout}.agent.agent_loop_config_path": str(files.agent_loop),
        f"{rollout}.val_kwargs.do_sample": True,
        f"{rollout}.val_kwargs.temperature": 1.0,
    }


def _algorithm(config: TrainingConfig) -> dict[str, Value]:
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.use_kl_in_reward": False,
        "algorithm.norm_adv_by_std_in_grpo": config.scale_rewards == "group",
        "reward.custom_reward_function.path": "pkg://agent_evo_dagster.training.backends.verl_reward",
        "reward.custom_reward_function.name": "compute_score",
        "reward.num_workers": 1,
    }


def _trainer(config: TrainingConfig, settings: VerlSettings, files: VerlFiles) -> dict[str, Value]:
    steps = batches(config)
    every = config.save_steps // config.num_iterations or steps if config.save_steps else steps
    return {
        "trainer.logger": ["console", "file"],
        "trainer.project_name": PROJECT,
        "trainer.experiment_name": "run",
        "trainer.default_local_dir": str(files.checkpoints),
        "trainer.rollout_data_dir": str(files.rollout_dumps),
        "trainer.validation_data_dir": str(files.validation_dumps),
        "trainer.device": "npu" if config.device == "npu" else "cuda",
        "trainer.nnodes": settings.nodes,
        "trainer.n_gpus_per_node": settings.devices_per_node,
        "trainer.total_epochs": 1,
        "trainer.total_training_steps": steps,
        "trainer.save_freq": min(every, steps),
        "trainer.max_actor_ckpt_to_keep": 1,
        "trainer.test_freq": settings.validate_every or -1,
        "trainer.val_before_train": False,
        "trainer.resume_mode": "disable",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": settings.storage_units,
        "trainer.v1.trainer_mode": "sync",
        "trainer.v1.sampler.sync_refill_failed_groups": True,
    }


def _ray(ray: RaySettings) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if ray.num_cpus is not None:
        found["ray_kwargs.ray_init.num_cpus"] = ray.num_cpus
    if ray.submit == "process":  # without an address, Ray would join whatever cluster it finds on the machine
        found["+ray_kwargs.ray_init.address"] = ray.address or "local"
    if ray.namespace is not None:
        found["+ray_kwargs.ray_init.namespace"] = ray.namespace
    return found


def runtime_variables(variables: Mapping[str, str]) -> list[str]:
    """Overrides that give the actors of a cluster these variables."""
    prefix = "+ray_kwargs.ray_init.runtime_env.env_vars"
    return [f"{prefix}.{name}={_text(value)}" for name, value in sorted(variables.items())]


def _text(value: Value) -> str:
    """A value as Hydra's grammar reads it back: strings quoted, so that nothing in them is grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    r"""In single quotes. Hydra unescapes `\'` alone, and backslashes before a quote; `$` is OmegaConf's."""
    if "${" in text:
        raise TrainingError(f"{text!r} cannot be given to verl: it would be read as a reference.")
    if text.endswith("\\") or "\\'" in text:
        raise TrainingError(f"{text!r} cannot be given to verl: a backslash stands before a quote.")
    return "'" + text.replace("'", "\\'") + "'"
