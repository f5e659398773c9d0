"""How verl lays a run out over devices. What decides the run's result is in the training configuration."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class VerlSettings(BaseModel):
    """Names are verl's where they are of one word; the mapping is in verl_overrides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: int = Field(1, ge=1, le=4096, description="Machines.")
    devices_per_node: int = Field(1, ge=1, le=64, description="GPUs or NPUs of each machine.")
    strategy: Literal["fsdp", "fsdp2", "megatron"] = Field("fsdp", description="How weights are sharded.")
    engine: Literal["vllm", "sglang", "trtllm"] = Field("vllm", description="Who samples.")
    rollout_tensor_parallel: int = Field(1, ge=1, le=64, description="Devices that share a copy, sampling.")
    train_tensor_parallel: int = Field(1, ge=1, le=64, description="megatron: devices that share a layer.")
    train_pipeline_parallel: int = Field(1, ge=1, le=64, description="megatron: devices in a row of layers.")
    memory_utilization: float = Field(0.5, gt=0, le=1, description="Share of memory for sampling.")
    enforce_eager: bool = Field(False, description="No compiled graphs in the sampling engine.")
    offload: bool = Field(False, description="Weights and optimiser in main memory while not in use.")
    max_prompt_length: int = Field(1024, ge=1, description="Tokens; a longer prompt is an error.")
    agent_workers: int = Field(1, ge=1, le=1024, description="Processes that talk to environments.")
    storage_units: int = Field(1, ge=1, le=1024, description="Processes that hold rollouts until trained on.")
    validate_every: int = Field(0, ge=0, description="Steps between validations on dev tasks; 0: none.")
    validation_tasks: int = Field(64, ge=1, le=100_000, description="dev tasks of one validation.")
    keep_shards: bool = Field(False, description="Keep verl's own checkpoints beside the merged one.")

    @property
    def devices(self) -> int:
        """All devices of the run."""
        return self.nodes * self.devices_per_node

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        model_parallel = self.train_tensor_parallel * self.train_pipeline_parallel
        if self.strategy != "megatron" and model_parallel > 1:
            raise ValueError("train_tensor_parallel and train_pipeline_parallel are of strategy: megatron")
        if self.devices % model_parallel:
            raise ValueError(f"{self.devices} devices cannot be split into groups of {model_parallel}")
        if self.devices_per_node % self.rollout_tensor_parallel:
            raise ValueError(
                f"rollout_tensor_parallel {self.rollout_tensor_parallel} does not divide devices_per_node "
                f"{self.devices_per_node}"
            )
        return self
