"""The vocabulary of patches: documents, evidence and decisions. No parsing, no rules."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

Action = Literal["replace", "append", "prepend", "insert_after"]
DecisionVerdict = Literal["approve", "reject", "wait"]  # what a policy can say
FinalVerdict = Literal["approve", "reject", "withdraw", "expire"]  # what a record can say


class PatchStatus(StrEnum):
    """The life of a patch. Only approved and active ones are ever compiled."""

    PROPOSED = "proposed"
    EVALUATED = "evaluated"
    APPROVED = "approved"
    REJECTED = "rejected"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


class GateVerdict(StrEnum):
    """What the gate says of a patch."""

    ACCEPT = "accept"  # better beyond the interval, no task worse beyond noise
    REJECT = "reject"  # not better, or a task regressed
    REJECT_UNVERIFIED = "reject_unverified"  # the evidence is incomplete or not trustworthy
    NEEDS_PERSON = "needs_person"  # no judge can measure this kind of patch


class Patch(BaseModel):
    """One small edit of one section of one skill: markdown with front matter on disk.

    `id` is `p-` and the first 16 hex digits of the SHA-256 over skill, section, action, base_hash and body.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    group: str
    skill: str
    target_section: str
    action: Action
    description: str = Field(max_length=500)
    base_hash: str  # SHA-256 of the section's text that it was made against
    source_round: str | None = None
    findings: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    status: PatchStatus = PatchStatus.PROPOSED
    created: datetime
    body: str


NAME_PATTERN = "[a-z0-9]+(?:-[a-z0-9]+)*"
PATCH_ID_PATTERN = "p-[0-9a-f]{16}"
HASH_PATTERN = "[0-9a-f]{64}"


def _said(description: str, pattern: str) -> JsonDict:
    """What a published schema says of a field; the reader checks patterns itself, with advice of its own."""
    return {"description": description, "pattern": f"^{pattern}$"}


class PatchSource(BaseModel):
    """Where a patch comes from; both are empty where a person wrote it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    round: str | None = None
    findings: tuple[str, ...] = ()


class PatchHead(BaseModel):
    """The front matter of a patch file; its body is the text to put in place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(json_schema_extra=_said("Bound to what the patch does.", PATCH_ID_PATTERN))
    group: str = Field(json_schema_extra=_said("Group of the skill in bank.yaml.", NAME_PATTERN))
    skill: str = Field(json_schema_extra=_said("The skill that it edits.", NAME_PATTERN))
    target_section: str = Field(json_schema_extra=_said("The section that it edits.", NAME_PATTERN))
    action: Action
    description: str = Field(max_length=500)
    base_hash: str = Field(
        json_schema_extra=_said("SHA-256 of the section it was made against.", HASH_PATTERN)
    )
    source: PatchSource
    depends_on: tuple[str, ...] = Field((), description="Patch ids that come first, in any skill.")
    conflicts_with: tuple[str, ...] = Field((), description="Patch ids that must not be active with it.")
    supersedes: tuple[str, ...] = Field((), description="Patch ids that it stands in for.")
    status: PatchStatus = PatchStatus.PROPOSED
    created: datetime = Field(description="With a time zone.")


# One row per proposed patch.
_PATCH_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "patch_id": pl.String,
    "group": pl.String,
    "skill": pl.String,
    "section": pl.String,
    "action": pl.String,
    "description": pl.String,
    "base_hash": pl.String,
    "base": pl.String,  # the section's text that it was made against
    "findings": pl.List(pl.String),
    "settings": pl.String,  # JSON text {setting: [old, new]}; "{}" where it is prose
    "diff": pl.String,  # unified diff of the section
    "document": pl.String,  # the patch file, whole
}
PATCH_SCHEMA = pl.Schema(_PATCH_COLUMNS)

# One row per judged patch. Per-task numbers are in `evidence` (JSON text of GateEvidence).
_PATCH_EVALUATION_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "patch_id": pl.String,
    "judge": pl.String,  # the name of one, or "none" where no judge fits
    "verdict": pl.String,  # GateVerdict
    "reason": pl.String,
    "n": pl.Int64,  # paired tasks; of a replay, sessions
    "baseline": pl.Float64,
    "candidate": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,  # interval of the difference
    "high": pl.Float64,
    "regressions": pl.List(pl.String),  # tasks worse beyond noise
    "evidence": pl.String,
}
PATCH_EVALUATION_SCHEMA = pl.Schema(_PATCH_EVALUATION_COLUMNS)

# One row per patch: the decision in force.
_PATCH_DECISION_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "patch_id": pl.String,
    "diff_hash": pl.String,
    "decision": pl.String,  # "wait", or FinalVerdict
    "gate_verdict": pl.String,
    "by": pl.String,  # a person's name, or "policy:auto"
    "reason": pl.String,
    "decided_at": pl.Datetime("us", "UTC"),  # null while it waits
    "record_hash": pl.String,  # of the ledger record; null while it waits
}
PATCH_DECISION_SCHEMA = pl.Schema(_PATCH_DECISION_COLUMNS)
