"""The configuration files that MindSpeed-RL is started with, rendered from ours. Not how it is started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.backends.mindspeed_settings import MindSpeedSettings
from agent_evo_dagster.training.config import TrainingConfig

CONFIG_NAME = "grpo"
BETA1 = 0.9

Section = dict[str, object]
T = TypeVar("T")


@dataclass(frozen=True)
class MindSpeedFiles:
    """Where the files of one run lie."""

    root: Path

    @property
    def config(self) -> Path:
        """The configuration of the run, as Hydra finds it by name."""
        return self.root / f"{CONFIG_NAME}.yaml"

    @property
    def runtime_env(self) -> Path:
        """Variables of its Ray workers."""
        return self.root / "runtime_env.yaml"

    @property
    def checkpoints(self) -> Path:
        """Folder of weights in Megatron's layout."""
        return self.root / "checkpoints"

    @property
    def metrics(self) -> Path:
        """Its trainer's log, which it writes into the folder that it runs in."""
        return self.root / "grpo_trainer_hybrid"

    @property
    def log(self) -> Path:
        """What it writes to its terminal."""
        return self.root / "mindspeed.log"


def write_files(
    config: TrainingConfig,
    settings: MindSpeedSettings,
    base: Path,
    files: MindSpeedFiles,
    variables: Mapping[str, str],
) -> None:
    """Write both files.

    Raises:
        TrainingError: a setting that it cannot do without is missing.
    """
    document = yaml.safe_dump(document_of(config, settings, base, files), sort_keys=False)
    write_atomic(files.config, document.encode())
    environment = yaml.safe_dump({"env_vars": dict(sorted(variables.items()))}, sort_keys=False)
    write_atomic(files.runtime_env, environment.encode())


def document_of(
    config: TrainingConfig, settings: MindSpeedSettings, base: Path, files: MindSpeedFiles
) -> Section:
    """The whole configuration, in the sections that MindSpeed-RL reads.

    Raises:
        TrainingError: a setting that it cannot do without is missing.
    """
    repository = required(settings.repository, "repository")
    return {
        "defaults": [{"model": [settings.model]}, "_self_"],
        "hydra": {"searchpath": [f"file://{repository / 'configs'}"]},
        "megatron_training": _megatron(config, settings, base),
        "actor_config": _actor(config, settings, files),
        "rl_config": _rl(config, settings, files),
        "generate_config": _generate(config, settings),
    }


def required(value: T | None, name: str) -> T:
    """A setting that has no default.

    Raises:
        TrainingError: it is not set.
    """
    if value is None:
        raise TrainingError(f"The backend mindspeed_rl needs mindspeed_rl.{name} in the deployment.")
    return value


def _megatron(config: TrainingConfig, settings: MindSpeedSettings, base: Path) -> Section:
    return {
        "model": settings.model,
        "stage": "ray_grpo",
        "use_mcore_models": True,
        "sequence_parallel": settings.tensor_parallel > 1,
        "use_flash_attn": True,
        "bf16": True,
        "use_distributed_optimizer": True,
        "distributed_backend": "nccl",  # torch_npu answers to this name
        "no_shared_storage": False,
        "tokenizer_type": "PretrainedFromHF",
        "tokenizer_name_or_path": str(base),
        "seed": config.seed,
        "train_iters": config.max_steps,
        "save_interval": config.save_steps or config.max_steps,
        "global_batch_size": config.prompts_per_step,
        "seq_length": settings.max_prompt_length + config.max_completion_length,
        "dataset_additional_keys": ["labels"],
        "data_path": required(settings.data_path, "data_path"),
        "split": "100,0,0",
        "no_shuffle": True,
        "attention_dropout": 0.0,
        "hidden_dropout": 0.0,
        **(
            {"recompute_granularity": "full", "recompute_method": "block"}
            if config.gradient_checkpointing
            else {}
        ),
    }


def _actor(config: TrainingConfig, settings: MindSpeedSettings, files: MindSpeedFiles) -> Section:
    return {
        "model": settings.model,
        "micro_batch_size": min(config.micro_batch_size, config.num_generations),
        "tensor_model_parallel_size": settings.tensor_parallel,
        "pipeline_model_parallel_size": settings.pipeline_parallel,
        "lr": config.learning_rate,
        "lr_decay_style": "constant",
        "min_lr": 0.0,
        "lr_warmup_fraction": min(1.0, config.warmup_steps / config.max_steps),
        "weight_decay": config.weight_decay,
        "clip_grad": config.max_grad_norm,
        "adam_beta1": BETA1,
        "adam_beta2": config.adam_beta2,
        "finetune": True,
        "load": str(required(settings.load, "load")),
        "save": str(files.checkpoints),
        "no_load_optim": True,
        "no_load_rng": True,
    }


def _rl(config: TrainingConfig, settings: MindSpeedSettings, files: MindSpeedFiles) -> Section:
    return {
        "runtime_env_path": str(files.runtime_env),
        "use_integrated_worker": True,
        "blocking": True,
        "guarantee_order": True,
        "adv_estimator": "group_norm",
        "gamma": 1.0,
        "lam": 1.0,
        "kl_penalty": "low_var_kl",
        "kl_ctrl_type": "fixed",
        "init_kl_coef": config.beta,
        "entropy_coeff": config.entropy_coef,
        "clip_ratio": config.epsilon,
        "mini_batch_size": config.prompts_per_step,
        "epochs": config.num_iterations,
        "shuffle_mini_batch": False,
        "n_samples_per_prompt": config.num_generations,
        "max_prompt_length": settings.max_prompt_length,
        "rule_reward": True,
        "verifier_function": list(settings.verifier_function),
        "verifier_weight": list(settings.verifier_weight),
        "use_tensorboard": False,
        "use_wandb": False,
        "actor_resource": {"num_npus": settings.npus},
    }


def _generate(config: TrainingConfig, settings: MindSpeedSettings) -> Section:
    length = settings.max_prompt_length + config.max_completion_length
    return {
        "trust_remote_code": False,
        "offload_train_optimizer": True,
        "offload_train_grad": True,
        "offload_train_param": True,
        "infer_tensor_parallel_size": settings.rollout_tensor_parallel,
        "infer_pipeline_parallel_size": 1,
        "infer_expert_parallel_size": 1,
        "max_model_len": length,
        "max_num_seqs": 256,
        "max_num_batched_tokens": max(8192, length),
        "dtype": "bfloat16",
        "gpu_memory_utilization": settings.memory_utilization,
        "sampling_config": {
            "logprobs": 1,
            "max_tokens": config.max_completion_length,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "temperature": config.temperature,
            "detokenize": False,
        },
    }
