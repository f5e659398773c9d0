"""Where and how policies are served by vLLM. What is sampled is the caller's."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agent_evo_dagster.training.backends.variables import require_plain

# Flags of `vllm serve` on which token ids, log-probabilities and our checks depend.
OWN_FLAGS = frozenset(
    {
        "--api-key", "--dtype", "--enforce-eager", "--generation-config", "--gpu-memory-utilization",
        "--host", "--logprobs-mode", "--max-model-len", "--max-num-seqs", "--model", "--port", "--seed",
        "--served-model-name", "--tensor-parallel-size",
    }
)  # fmt: skip


class VllmSettings(BaseModel):
    """A server that is started here, or one that runs already (`url`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = Field(None, description="Server that runs already; null: one is started for the job.")
    reload: bool = Field(
        False,
        description="The server at `url` may be told to load other weights (VLLM_SERVER_DEV_MODE=1), from "
        "folders that it sees under the same paths.",
    )
    api_key_env: str | None = Field(None, description="Variable of the environment that holds the API key.")
    python: Path | None = Field(None, description="Python of the environment with vLLM; null: the worker's.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field("auto", description="Of weights.")
    max_model_len: int | None = Field(None, ge=16, description="Tokens of prompt and completion; null: all.")
    tensor_parallel: int = Field(1, ge=1, le=64, description="Devices over which a layer is split.")
    memory_utilization: float = Field(0.9, gt=0, le=1, description="Share of a device's memory to take.")
    enforce_eager: bool = Field(False, description="No compiled graphs: starts faster, samples slower.")
    max_num_seqs: int = Field(256, ge=1, le=8192, description="Sequences that the server decodes at a time.")
    concurrency: int = Field(64, ge=1, le=4096, description="Requests that are under way at a time.")
    request_timeout: float = Field(300.0, gt=0, le=86_400, description="Seconds for one turn.")
    retries: int = Field(5, ge=0, le=100, description="New tries of a request after a passing failure.")
    start_timeout: float = Field(900.0, gt=0, le=86_400, description="Seconds until the server must answer.")
    env: dict[str, str] = Field({}, description="Variables for the server that is started.")
    arguments: tuple[str, ...] = Field((), description="More flags for `vllm serve`.")

    @field_validator("url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no address of a server: it begins with http:// or https://")
        return url and url.rstrip("/").removesuffix("/v1")

    @field_validator("env")
    @classmethod
    def _no_secrets(cls, env: dict[str, str]) -> dict[str, str]:
        require_plain(env, instead="set it in the worker's environment, which the server has as well")
        return env

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.reload and self.url is None:
            raise ValueError("reload is for a server at `url`; one that is started here can always reload")
        taken = OWN_FLAGS.intersection(argument.partition("=")[0] for argument in self.arguments)
        if taken:
            raise ValueError(
                f"{', '.join(sorted(taken))} cannot be given here: fields or fixed values set it"
            )
        return self
