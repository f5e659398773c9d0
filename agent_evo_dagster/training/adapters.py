"""Training a few weights instead of all: LoRA through PEFT, and what is left of it once it is merged."""

from typing import Any

from agent_evo_dagster.extras import require
from agent_evo_dagster.training.config import TrainingConfig


def adapter_of(config: TrainingConfig) -> Any:
    """PEFT's configuration of the adapters, or nothing where all weights are trained.

    Raises:
        MissingExtraError: PEFT is not installed.
    """
    if not config.lora_rank:
        return None
    require("peft", extra="lora", feature="training with lora_rank above 0")
    from peft import LoraConfig

    return LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,  # rollouts and loss must come from the same network
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def network(model: Any) -> Any:
    """The language model inside PEFT's wrapper, adapters active; `model` itself where there is none."""
    inner = getattr(model, "get_base_model", None)
    return inner() if inner else model


def merged(model: Any) -> Any:
    """A plain model with the adapters added to its weights."""
    merge = getattr(model, "merge_and_unload", None)
    return merge() if merge else model
