"""What the adapter for MindSpeed-RL is told of an installation that exists: nothing of it is in the wheel."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class MindSpeedSettings(BaseModel):
    """Names are those of MindSpeed-RL's own configuration where it has one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: Path | None = Field(None, description="Checkout of MindSpeed-RL.")
    model: str = Field("qwen25_7b", pattern=r"^[A-Za-z0-9_.-]+$", description="File of configs/model/.")
    load: Path | None = Field(None, description="Folder of the initial weights in Megatron's layout.")
    data_path: str | None = Field(None, description="Prefix of the preprocessed prompts.")
    verifier_function: tuple[str, ...] = Field(("base_acc",), description="Its rewards, by name.")
    verifier_weight: tuple[float, ...] = Field((1.0,), description="Weight of each reward.")
    npus: int = Field(8, ge=1, le=4096, description="NPUs of the run.")
    tensor_parallel: int = Field(1, ge=1, le=64, description="NPUs that share a layer, training.")
    pipeline_parallel: int = Field(1, ge=1, le=64, description="NPUs in a row of layers, training.")
    rollout_tensor_parallel: int = Field(1, ge=1, le=64, description="NPUs that share a copy, sampling.")
    memory_utilization: float = Field(0.4, gt=0, le=1, description="Share of memory for sampling.")
    max_prompt_length: int = Field(1024, ge=1, description="Tokens of a prompt.")
    convert_command: tuple[str, ...] = Field(
        (),
        description="Command that turns its weights into the Hugging Face layout; {shards} and {target} in "
        "it are the folders, {base} is the policy that the training began with.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.verifier_function) != len(self.verifier_weight):
            raise ValueError("verifier_function and verifier_weight have different lengths")
        if self.npus % (self.tensor_parallel * self.pipeline_parallel):
            raise ValueError(
                f"{self.npus} NPUs cannot be split into groups of "
                f"{self.tensor_parallel * self.pipeline_parallel}"
            )
        text = " ".join(self.convert_command)
        if self.convert_command and not ("{shards}" in text and "{target}" in text):
            raise ValueError("convert_command needs {shards} and {target}")
        return self
