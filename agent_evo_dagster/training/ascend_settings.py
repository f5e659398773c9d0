"""What a run on Ascend NPUs is told of its machine. Which versions go together is in ascend_versions.yaml."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

_INTERFACE = re.compile(r"[A-Za-z0-9._-]{1,15}")


class AscendSettings(BaseModel):
    """Of each node, the same on all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    visible_devices: tuple[int, ...] = Field((), description="NPUs of a node to use; none: all of them.")
    home: Path | None = Field(None, description="Folder of CANN; null: ASCEND_HOME_PATH, from set_env.sh.")
    socket_interface: str | None = Field(None, description="Network interface between nodes, such as eth0.")
    connect_timeout: int = Field(1800, ge=1, le=86_400, description="Seconds for devices to find each other.")
    exec_timeout: int = Field(3600, ge=1, le=86_400, description="Seconds for one collective operation.")
    buffer_mb: int = Field(256, ge=1, le=65_536, description="MB that devices share for one communicator.")
    base_port: int | None = Field(None, ge=1024, le=65_520, description="First port of collectives.")
    allow_unlisted: bool = Field(False, description="Start with versions that no listed set has.")

    @field_validator("visible_devices")
    @classmethod
    def _distinct(cls, devices: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(devices)) != len(devices) or any(device < 0 for device in devices):
            raise ValueError(f"{list(devices)} is no list of different devices")
        return devices

    @field_validator("socket_interface")
    @classmethod
    def _interface(cls, name: str | None) -> str | None:
        if name is not None and not _INTERFACE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a network interface")
        return name
