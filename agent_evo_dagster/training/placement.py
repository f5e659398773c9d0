"""On which device and in which precision a run computes, and whether it fits there. No training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training.config import TrainingConfig

PREFERRED = ("cuda", "npu", "mps", "cpu")
FLOAT_BYTES = 4
ADAM_STATES = 2
LOGIT_COPIES = 3  # logits, their log-softmax, and its gradient are alive together
LARGE = frozenset({"cuda", "npu"})  # devices that compute in bfloat16 unless told otherwise


@dataclass(frozen=True)
class Placement:
    """A device as torch names it, and the precision of its matrix products."""

    device: str
    dtype: str  # "float32" | "bfloat16" | "float16"


def placement(config: TrainingConfig) -> Placement:
    """The device and precision that the configuration asks for; `auto` takes the first that is here.

    Raises:
        TrainingError: the device is not here, or cannot compute in that precision.
    """
    here = [name for name in PREFERRED if _AVAILABLE[name]()]
    device = here[0] if config.device == "auto" else config.device
    if device not in here:
        raise TrainingError(
            f"device={device} was asked for, and torch sees {', '.join(here)} here. {_ADVICE[device]}"
        )
    usual = "bfloat16" if device in LARGE else "float32"
    dtype = usual if config.dtype == "auto" else config.dtype
    if dtype == "float16" and device == "cpu":
        raise TrainingError("dtype=float16 does not train on a CPU. Use float32 or bfloat16.")
    return Placement(device, dtype)


def require_memory(model: Any, config: TrainingConfig, place: Placement) -> None:
    """Refuse a training that cannot fit, before it starts.

    Raises:
        TrainingError: the least that it needs is more than what is free.
    """
    need, free = least_bytes(model, config), free_bytes(place.device)
    if need > free:
        raise TrainingError(
            f"This training needs at least {need / 2**30:.1f} GiB on {place.device}, and {free / 2**30:.1f} "
            "GiB are free. Lower micro_batch_size or max_completion_length, or train adapters (lora_rank)."
        )


def least_bytes(model: Any, config: TrainingConfig) -> int:
    """A lower bound of what training takes beside the weights, which are loaded: bytes.

    Gradients and Adam's two moments of what is trained, and the logits of one micro-batch. Activations are
    not counted.
    """
    trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
    if config.lora_rank:
        trained = 0  # small beside the rest
    rows = min(config.micro_batch_size, config.prompts_per_step * config.num_generations)
    logits = rows * config.max_completion_length * model.config.vocab_size * LOGIT_COPIES
    return int(FLOAT_BYTES * (trained * (1 + ADAM_STATES) + logits))


def free_bytes(device: str) -> int:
    """Free memory of a device in bytes; of the machine where the device shares it."""
    if device == "cuda":
        import torch

        return int(torch.cuda.mem_get_info()[0])
    if device == "npu":
        return int(_npu().mem_get_info()[0])
    import psutil

    return int(psutil.virtual_memory().available)


def _npu() -> Any:
    """Torch's module of Ascend devices."""
    return require("torch_npu", extra="npu", feature="device=npu").npu


def _npu_here() -> bool:
    from importlib.util import find_spec

    return find_spec("torch_npu") is not None and bool(_npu().is_available())


def _cuda_here() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _mps_here() -> bool:
    import torch

    return bool(torch.backends.mps.is_available())


_AVAILABLE: Mapping[str, Callable[[], bool]] = MappingProxyType(
    {"cuda": _cuda_here, "npu": _npu_here, "mps": _mps_here, "cpu": lambda: True}
)
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "Install a torch that is built for CUDA, and check `nvidia-smi`.",
        "npu": "Install torch_npu for this torch and CANN, and check `npu-smi info`.",
        "mps": "It needs a Mac with Apple silicon.",
        "cpu": "",
    }
)
