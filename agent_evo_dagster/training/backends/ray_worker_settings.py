"""What a worker that is a Ray job asks the cluster for. Where the cluster is stands in ray_settings."""

from pydantic import BaseModel, ConfigDict, Field


class RayWorkerSettings(BaseModel):
    """For the backend hf with ray.submit: job. Without any of them the job runs on the head node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpus: float | None = Field(None, gt=0, description="CPUs that the cluster reserves for the worker.")
    gpus: float | None = Field(None, gt=0, description="GPUs, which the worker then sees alone.")
    resources: dict[str, float] = Field({}, description="Other resources by their names, such as NPU.")
