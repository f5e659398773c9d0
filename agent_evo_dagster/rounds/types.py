"""The vocabulary of rounds: the manifest that freezes a round's input. No reading, no writing."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.settings import ApprovalPolicy

Opener = Literal["person", "sensor", "schedule"]
OperatorName = Literal["direct", "claude_code"]


class SliceRecord(BaseModel):
    """The byte range of one spool file that the round took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(description="Relative to the spool.")
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    sha256: str
    sessions: tuple[str, ...]


class ParentCheckpoint(BaseModel):
    """The policy that the round starts from; absent: the embedded base."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    round: str
    sha256: str


class RoundManifest(BaseModel):
    """What a round reads, frozen when it is opened: `<home>/rounds/<key>/manifest.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    key: str
    number: int = Field(ge=1)
    opened_at: datetime
    seed: int
    request: str = Field(description="What was asked for, in plain language; may be empty.")
    overrides: dict[str, float | int | str] = Field(description="Training settings given by flags.")
    config_file: dict[str, float | int | str] = Field({}, description="Training settings given by a file.")
    operator: OperatorName = "direct"
    operated: OperatorRun | None = Field(None, description="What the operator did; null for direct.")
    policy: ApprovalPolicy
    include_open_sessions: bool
    opened_by: Opener = Field("person", description="A sensor and a schedule run what they opened.")
    unreadable: dict[str, str] = Field({}, description="Spool files passed over, with the reason.")
    slices: tuple[SliceRecord, ...]
    earlier: tuple[SliceRecord, ...] = Field(
        (), description="What rounds before took of sessions whose transcripts come late: nothing new."
    )
    bank_hash: str = Field(description="Content hash of the bank that was read; its bytes are kept.")
    parent: ParentCheckpoint | None
    passed_over: dict[str, str] = Field(
        {},
        description="Later rounds than the parent that trained and never came to their end: how they stood.",
    )
