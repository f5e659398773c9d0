"""Patches, what the gate found of them, and what was decided. No judging, no deciding."""

import json
import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import fixed, number, plural, signed
from agent_evo_dagster.analysis.views.page import Card, PatchView, Table

_PATCH_COLUMNS = ("patch_id", "skill", "section", "action", "description", "findings", "settings", "diff")
_GATE_COLUMNS = (
    "patch_id", "judge", "verdict", "reason",
    "n", "baseline", "candidate", "difference", "low", "high", "regressions",
)  # fmt: skip
_DECISION_COLUMNS = ("patch_id", "decision", "gate_verdict", "by", "reason", "decided_at")
_LEDGER = (
    "Patch", "Judge", "Tasks", "Baseline", "Candidate", "Difference [interval]", "Worse", "Verdict", "Reason",
)  # fmt: skip
_STATES = {
    "approve": "approved", "reject": "rejected", "withdraw": "withdrawn", "expire": "expired",
    "wait": "waiting", "none": "undecided",
}  # fmt: skip


def patch_views(
    patches: pl.DataFrame, evaluations: pl.DataFrame, decisions: pl.DataFrame
) -> tuple[PatchView, ...]:
    """One view for each proposed patch, in the order of the frame.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    judged = {row["patch_id"]: row for row in rows_of(evaluations, _GATE_COLUMNS, what="patch evaluations")}
    decided = {row["patch_id"]: row for row in rows_of(decisions, _DECISION_COLUMNS, what="patch decisions")}
    rows = rows_of(patches, _PATCH_COLUMNS, what="patches")
    return tuple(_view(row, judged.get(row["patch_id"]), decided.get(row["patch_id"])) for row in rows)


def _view(
    patch: Mapping[str, Any], gate: Mapping[str, Any] | None, decision: Mapping[str, Any] | None
) -> PatchView:
    state = "none" if decision is None else str(decision["decision"])
    changes = json.loads(patch["settings"] or "{}")
    return PatchView(
        patch_id=patch["patch_id"],
        target=f"{patch['skill']}/{patch['section']}",
        description=patch["description"],
        changes=tuple((name, number(old), number(new)) for name, (old, new) in sorted(changes.items())),
        findings=tuple(patch["findings"] or ()),
        gate="not judged" if gate is None else _judged(gate),
        decision=state,
        decided=_decided(decision),
        diff=patch["diff"] or "",
        commands=_commands(patch["patch_id"]) if state == "wait" else (),
    )


def _judged(gate: Mapping[str, Any]) -> str:
    return f"{gate['verdict']} by {gate['judge']}: {gate['reason']}"


def _difference(gate: Mapping[str, Any]) -> str:
    return f"{signed(gate['difference'], 3)} [{signed(gate['low'], 3)}, {signed(gate['high'], 3)}]"


def _decided(decision: Mapping[str, Any] | None) -> str:
    if decision is None:
        return "no decision is on record"
    if decision["decision"] == "wait":
        return f"waits for a person: {decision['reason']}"
    at = decision["decided_at"]
    when = f" on {at:%Y-%m-%d %H:%M} UTC" if isinstance(at, datetime) else ""
    state = _STATES.get(decision["decision"], decision["decision"])
    return f"{state} by {decision['by']}{when}: {decision['reason']}"


def _commands(patch_id: str) -> tuple[str, ...]:
    verbs = ("approve", "reject")
    return tuple(
        f"agent-evo patches {verb} {shlex.quote(patch_id)} --by NAME --reason TEXT" for verb in verbs
    )


def gate_ledger(evaluations: pl.DataFrame) -> Table:
    """Every judged patch with its figures."""
    rows = rows_of(evaluations, _GATE_COLUMNS, what="patch evaluations")
    shown = tuple(map(_ledger_row, rows))
    return Table("Gate ledger", _LEDGER, shown, frozenset({2, 3, 4, 5}), "No patch was judged.")


def _ledger_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    measured = "not measured" if row["difference"] is None else _difference(row)
    worse = list(row["regressions"] or ())
    named = ", ".join(worse[:3]) + (f" and {len(worse) - 3} more" if len(worse) > 3 else "")
    return (
        row["patch_id"], row["judge"], str(row["n"]), fixed(row["baseline"], 3), fixed(row["candidate"], 3),
        measured, named or "none", row["verdict"], row["reason"],
    )  # fmt: skip


def patch_card(patches: tuple[PatchView, ...]) -> Card:
    """How many patches there are in which state, and what the approved ones change."""
    counts = {state: sum(patch.decision == state for patch in patches) for state in _STATES}
    told = [f"{counts[state]} {word}" for state, word in _STATES.items() if counts[state]]
    changed = [change_words(patch) for patch in patches if patch.decision == "approve"]
    return Card("Patches", plural(len(patches), "patch").replace("patchs", "patches"), (*told, *changed))


def change_words(patch: PatchView) -> str:
    """What a patch changes, in few words: its settings, else its description."""
    moves = ", ".join(f"{name} {old} → {new}" for name, old, new in patch.changes)
    return moves or patch.description
