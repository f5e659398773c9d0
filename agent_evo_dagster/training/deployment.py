"""Where a run computes: interpreters, devices, servers. What decides its result is in config."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.strict_yaml import read_mapping
from agent_evo_dagster.training.ascend_settings import AscendSettings
from agent_evo_dagster.training.backends.mindspeed_settings import MindSpeedSettings
from agent_evo_dagster.training.backends.ray_settings import RaySettings
from agent_evo_dagster.training.backends.ray_worker_settings import RayWorkerSettings
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings


class Deployment(BaseModel):
    """One file describes a machine or a cluster; every field has a default that works on a laptop."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inference: Literal["local", "vllm"] = Field(
        "local", description="Who samples in evaluations and in rollouts of the backend hf."
    )
    python: dict[Literal["hf", "verl", "mindspeed_rl"], Path] = Field(
        {}, description="Python of each backend's own environment; AGENT_EVO_TRAINER_PYTHON for the others."
    )
    vllm: VllmSettings = VllmSettings()
    verl: VerlSettings = VerlSettings()
    mindspeed_rl: MindSpeedSettings = MindSpeedSettings()
    ray: RaySettings = RaySettings()
    ray_worker: RayWorkerSettings = RayWorkerSettings()
    ascend: AscendSettings = AscendSettings()


def read_deployment(path: Path) -> Deployment:
    """The deployment in a YAML or JSON file.

    Raises:
        SettingsError: the file cannot be read, or says something that is not known.
    """
    document = read_mapping(path, error=SettingsError, origin=f"AGENT_EVO_DEPLOYMENT names {path}, which")
    try:
        return Deployment.model_validate(document)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, detail['loc'])) or 'document'}: {detail['msg']}"
            for detail in error.errors(include_url=False, include_input=False)
        ]
        raise SettingsError(f"{path} cannot be used as given:\n  " + "\n  ".join(problems)) from error
