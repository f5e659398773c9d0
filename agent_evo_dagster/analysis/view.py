"""What detectors look at: the calls of a round's sessions, segments, skill texts and tokens. No rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from agent_evo_dagster.analysis.calls import Call, read_calls
from agent_evo_dagster.analysis.frames import rows_of

SkillTexts = Mapping[tuple[str, str], str]  # (skill, section) -> the section's text

_STRETCH_COLUMNS = (
    "segment_id",
    "session_id",
    "trajectory_id",
    "skill",
    "step_ids",
    "started_at",
    "ended_at",
)
_USAGE_COLUMNS = (
    "step_id", "input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens", "cost_usd",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stretch:
    """One segment: a skill's, or a free one."""

    segment_id: str
    session_id: str
    trajectory_id: str
    skill: str | None
    step_ids: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model took for a step: tokens that it read and wrote, and their price where one is known."""

    read: int = 0
    written: int = 0
    cost_usd: float | None = None

    def __add__(self, other: "Spent") -> "Spent":
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spent(self.read + other.read, self.written + other.written, sum(costs) if costs else None)

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of a round, as detectors read them."""

    calls: Sequence[Call]  # in the order of session, trajectory and index
    stretches: Sequence[Stretch] = ()
    skills: SkillTexts = field(default_factory=dict)
    spent: Mapping[str, Spent] = field(default_factory=dict)  # by step

    def sections_of(self, skill: str | None) -> dict[str, str]:
        """The sections of a skill by name, in the order of its text; none where it is not known."""
        return {section: text for (owner, section), text in self.skills.items() if owner == skill}


def read_sessions(
    steps: pl.DataFrame,
    segments: pl.DataFrame,
    *,
    skills: SkillTexts | None = None,
    usage: pl.DataFrame | None = None,
) -> Sessions:
    """The view of steps (STEP_SCHEMA), segments (SEGMENT_SCHEMA) and what messages took of each step.

    `usage` has the columns of `capture.usage.usage_by_step`; without it, nothing is said of tokens.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    rows = rows_of(segments, _STRETCH_COLUMNS, what="segments")
    stretches = [
        Stretch(**{**row, "step_ids": tuple(row["step_ids"] or ())})
        for row in sorted(rows, key=lambda row: (row["session_id"], row["segment_id"]))
    ]
    spent: dict[str, Spent] = {}
    for row in rows_of(pl.DataFrame() if usage is None else usage, _USAGE_COLUMNS, what="token usage"):
        read = row["input_tokens"] + row["cache_creation_tokens"] + row["cache_read_tokens"]
        took = Spent(read, row["output_tokens"], row["cost_usd"])
        spent[row["step_id"]] = spent.get(row["step_id"], Spent()) + took
    return Sessions(read_calls(steps, segments), tuple(stretches), dict(skills or {}), spent)
