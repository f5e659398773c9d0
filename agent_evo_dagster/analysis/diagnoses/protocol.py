"""The seam of training diagnoses, and what they share. No rule of any one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent_evo_dagster.analysis.findings import Json, make_finding
from agent_evo_dagster.analysis.series import Run, Series
from agent_evo_dagster.analysis.thresholds import Move
from agent_evo_dagster.analysis.types import Finding, SettingHint, Severity

_SMALLEST_FACTOR = 1.25  # a move that its limit has cut to less than this changes nothing


NOTED: Final = "signs"  # the key of a finding's data that holds what was noted, in words


@dataclass(frozen=True, slots=True)
class Noted:
    """One sign of trouble, in words, with the metric that shows it."""

    words: str
    series: Series
    grave: bool


class Diagnosis(Protocol):
    """One rule over a training run."""

    @property
    def name(self) -> str:
        """The kind that its findings carry, unless the rule tells several apart."""
        ...

    def find(self, run: Run) -> list[Finding]:
        """Findings on `run`; none where what it needs was not logged."""
        ...


def hint_of(move: Move | None, run: Run, why: str) -> SettingHint | None:
    """The move as a hint, its factor cut at the move's limit; None where nothing of it is left."""
    if move is None:
        return None
    factor = move.factor
    value = run.setting(move.setting)
    if value is not None and move.limit is not None and value > 0:
        factor = min(factor, move.limit / value if move.direction == "raise" else value / move.limit)
    if value == 0 or factor < _SMALLEST_FACTOR:
        return None
    return SettingHint(move.setting, move.direction, round(factor, 4), why)


def training_finding(
    kind: str,
    run: Run,
    *,
    severity: Severity,
    summary: str,
    series: tuple[Series, ...],
    confidence: float,
    data: Mapping[str, Json],
    look_at: tuple[str, ...],
    hint: SettingHint | None = None,
) -> Finding:
    """A finding on `run`; its evidence is the metrics with their steps, its count their steps."""
    return make_finding(
        "training",
        kind,
        severity=severity,
        summary=summary,
        evidence=[one.evidence for one in series],
        count=max((len(one.steps) + len(one.broken) for one in series), default=0),
        confidence=confidence,
        data={**data, "look_at": list(look_at)},
        subject=(run.thresholds.target_skill,),
        skill=run.thresholds.target_skill,
        hint=hint,
    )
