"""The vocabulary of analysis: findings. No detectors."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import polars as pl

Direction = Literal["raise", "lower"]


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class SettingHint:
    """Which setting of a skill a finding points to, and which way to move it by what factor."""

    setting: str
    direction: Direction
    factor: float  # > 1: raise multiplies by it, lower divides
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a round's evidence shows."""

    finding_id: str  # content hash
    origin: str  # "session" | "training"
    kind: str  # detector's name, e.g. "repeated_failure", "no_learning"
    severity: Severity
    summary: str  # one line, carries the numbers that were seen
    evidence: tuple[str, ...]  # segment, step and event ids, or metric names with step ranges
    count: int
    target_skill: str | None
    target_section: str | None
    confidence: float  # 0..1
    hint: SettingHint | None
    data: str  # JSON text: the detector's numbers


_FINDING_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "finding_id": pl.String,
    "origin": pl.String,
    "kind": pl.String,
    "severity": pl.String,
    "summary": pl.String,
    "evidence": pl.List(pl.String),
    "count": pl.Int64,
    "target_skill": pl.String,
    "target_section": pl.String,
    "confidence": pl.Float64,
    "hint": pl.String,  # JSON text of SettingHint, or null
    "data": pl.String,
}
FINDING_SCHEMA = pl.Schema(_FINDING_COLUMNS)

# One row per round, policy and mode of decoding: how good a policy is on the held-out tasks.
TREND_SCHEMA = pl.Schema(
    {
        "round": pl.String,
        "number": pl.Int64,
        "parent": pl.String,  # the round whose model it goes on from; null: it starts from a base
        "policy": pl.String,  # "before" | "after" the round's training
        "mode": pl.String,  # "sampled" | "greedy"
        "tasks": pl.Int64,
        "accuracy": pl.Float64,
        "accuracy_low": pl.Float64,  # 95 % interval, over tasks
        "accuracy_high": pl.Float64,
        "reward": pl.Float64,
    }
)
