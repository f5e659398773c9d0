"""What is checked before verl starts: its own configuration, its version, and the devices of this machine."""

import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from agent_evo_dagster.errors import MissingExtraError, TrainingError
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.verl_settings import VerlSettings

SUPPORTED = "0.9."  # the releases whose names the overrides have
SHOWN = 2000
CONTROLLER_CPUS = 1  # of the queue that holds rollouts
CPUS_PER_DEVICE = 3  # what verl reserves beside each device


def require_verl() -> str:
    """The version of verl in this Python.

    Raises:
        MissingExtraError: there is none.
        TrainingError: it is a release whose configuration has other names.
    """
    try:
        found = version("verl")
    except PackageNotFoundError as error:
        raise MissingExtraError(
            "The backend verl runs in a Python of its own, with verl and agent-evo-dagster; this one has no "
            "verl. `make verl-env` makes one; the deployment names it as python.verl."
        ) from error
    if not found.startswith(SUPPORTED):
        raise TrainingError(
            f"verl {found} is installed; the overrides are those of verl {SUPPORTED}x. Install verl==0.9.1."
        )
    return found


def compose(overrides: Sequence[str]) -> Any:
    """Verl's whole configuration under `overrides`, validated by verl itself as its trainer does.

    Raises:
        TrainingError: verl refuses it; with verl's words.
    """
    require_verl()
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = hydra_compose("ppo_trainer", overrides=list(overrides))
        OmegaConf.to_container(config, resolve=True)
        _validate(config)
    except (HydraException, OmegaConfBaseException, ValueError, TypeError, AssertionError, KeyError) as error:
        raise TrainingError(f"verl refuses the configuration: {str(error)[:SHOWN]}") from error
    return config


def _validate(config: Any) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    validate_config(
        config=config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config)
    )


def require_cpus(settings: VerlSettings, ray: RaySettings) -> None:
    """Refuse a run on this machine's own Ray where it has too few CPUs: verl would wait for them for ever.

    Raises:
        TrainingError: there are fewer than verl asks Ray for.
    """
    here = ray.num_cpus or os.cpu_count() or 1
    needed = settings.storage_units + CONTROLLER_CPUS + CPUS_PER_DEVICE * settings.devices_per_node
    if here < needed:
        raise TrainingError(
            f"verl asks Ray for {needed} CPUs a node and would wait for ever for more than the {here} here. "
            f"They are counted, not measured: ray.num_cpus: {needed} lets it start."
        )


def require_devices(device: str, count: int) -> None:
    """Refuse a run on this machine's own Ray where it has too few devices.

    Raises:
        TrainingError: there are fewer of them than the run asks for.
    """
    import torch

    module = getattr(torch, device, None)  # torch_npu adds torch.npu
    found = module.device_count() if module is not None and module.is_available() else 0
    if found < count:
        raise TrainingError(
            f"The run asks for {count} {device} devices a node (verl.devices_per_node) and this machine has "
            f"{found}. verl computes on GPUs and NPUs alone; on a CPU use the backend hf."
        )
