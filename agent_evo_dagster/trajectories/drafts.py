"""Steps in the making: which events belong to a step, what a call was and returned. No rules, no frames."""

from dataclasses import dataclass, field
from typing import Any, Final

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.types import Outcome, StepKind

# The order of a call's events where their clocks disagree by milliseconds.
_PHASE: Final = {
    "PreToolUse": 0,
    "PermissionRequest": 1,
    "PermissionDenied": 1,
    "PreSkillShellCommand": 1,
    "PostToolUse": 2,
    "PostToolUseFailure": 2,
    "PostToolBatch": 3,
}


@dataclass(slots=True)
class Draft:
    """One step. `rows` are its own events, `evidence` events of other steps that tell something about it."""

    agent: str | None
    kind: StepKind
    rows: list[int]
    evidence: list[int] = field(default_factory=list)
    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: str | None = None
    start: int | None = None  # row of PreToolUse
    end: int | None = None  # row of PostToolUse or PostToolUseFailure
    denial: int | None = None  # row of PermissionDenied
    batch: int | None = None  # row of the PostToolBatch that names it
    place: int = 0  # its place in that batch
    batch_response: Any = None
    response: Any = None  # parsed; of PostToolUse
    outcome: Outcome | None = None
    reason: str | None = None
    error: str | None = None

    def first(self) -> int:
        """The row that it begins with; a call that only a shared batch tells of begins with that batch."""
        return min(self.rows) if self.rows else self.evidence[0]

    def ordered_rows(self, columns: EventColumns) -> list[int]:
        """Its own events: start, questions, end, batch; by the clock within each."""
        if len(self.rows) < 2:
            return self.rows
        return sorted(self.rows, key=lambda row: (_PHASE.get(columns.kind[row], 1), row))
