"""The Ray cluster that a distributed backend computes on: address, namespace, variables, protection."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agent_evo_dagster.training.backends.variables import require_plain


class RayTls(BaseModel):
    """Certificates for the traffic between nodes; the same paths hold on every node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: Path = Field(description="Certificate of the authority.")
    cert: Path = Field(description="Certificate of this node.")
    key: Path = Field(description="Private key of this node.")


class RaySettings(BaseModel):
    """Where Ray is. Without an address, the backend starts it on this machine and ends it with the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str | None = Field(None, description="Cluster to join: host:port or auto; null: one of its own.")
    submit: Literal["process", "job"] = Field(
        "process", description="The trainer runs as a child of the worker, or as a job of the cluster."
    )
    dashboard: str | None = Field(None, description="Address of the job server, such as http://head:8265.")
    namespace: str | None = Field(None, description="Namespace of the actors.")
    num_cpus: int | None = Field(None, ge=1, description="CPUs of a Ray that is started here; null: all.")
    env: dict[str, str] = Field({}, description="Variables of all processes of the run.")
    env_from: tuple[str, ...] = Field(
        (), description="Variables that are taken from the worker's own environment: secrets belong here."
    )
    tls: RayTls | None = None
    token_file: Path | None = Field(None, description="File with the cluster's token (Ray 2.52 or later).")

    @field_validator("env")
    @classmethod
    def _no_secrets(cls, env: dict[str, str]) -> dict[str, str]:
        """What stands in the deployment is written beside every run."""
        require_plain(env, instead="set it in the worker's environment and name it in env_from")
        return env

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.submit == "job" and self.dashboard is None:
            raise ValueError("submit: job needs `dashboard`, the address of the cluster's job server")
        if self.submit == "process" and self.dashboard is not None:
            raise ValueError("`dashboard` is used with submit: job alone")
        if self.submit == "job" and self.address is not None:
            raise ValueError("a job runs on the cluster that it is submitted to: leave out `address`")
        if self.address is not None and self.env_from:
            raise ValueError(
                "env_from cannot reach a cluster that is joined by its address without being shown in verl's "
                "log: use submit: job"
            )
        if self.address is not None and self.num_cpus is not None:
            raise ValueError("num_cpus is of a Ray that is started here: leave it out, or `address`")
        return self
