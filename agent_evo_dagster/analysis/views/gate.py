"""Patches, what the gate found of them, and what was decided. No judging, no deciding."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.deciding import to_decide
from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import fixed, number, plural, signed
from agent_evo_dagster.analysis.views import life
from agent_evo_dagster.analysis.views.judging import compared, cost_of
from agent_evo_dagster.analysis.views.page import Card, PatchView, Table

_PATCH_COLUMNS = (
    "patch_id", "skill", "section", "action", "description", "findings", "settings", "diff",
    "base_hash", "result_hash",
)  # fmt: skip
_GATE_COLUMNS = (
    "patch_id", "judge", "verdict", "reason",
    "n", "baseline", "candidate", "difference", "low", "high", "regressions", "evidence",
)  # fmt: skip
_DECISION_COLUMNS = ("patch_id", "decision", "gate_verdict", "by", "reason", "decided_at")
_LEDGER = (
    "Patch", "Judge", "Tasks", "Baseline", "Candidate", "Difference [interval]", "Worse", "Verdict", "Reason",
)  # fmt: skip
_REPLAYED = ("Patch", "Judge", "Sessions", "Named", "With it", "Difference [interval]", "Verdict", "Reason")
_ROLLBACK_COLUMNS = ("patch_id", "skill", "result", "approved_by", "reason")
_RESULTS = {"rolled_back": "taken out", "kept": "kept", "failed": "could not be taken out"}
_DECIDED = {
    "approve": "approved", "reject": "rejected", "withdraw": "withdrawn", "expire": "expired",
}  # fmt: skip


def patch_views(
    round_key: str,
    patches: pl.DataFrame,
    evaluations: pl.DataFrame,
    decisions: pl.DataFrame,
    events: pl.DataFrame,
) -> tuple[PatchView, ...]:
    """One view for each proposed patch, in the order of the frame; `events` (LIFE_SCHEMA) are what followed.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    judged = {row["patch_id"]: row for row in rows_of(evaluations, _GATE_COLUMNS, what="patch evaluations")}
    decided = {row["patch_id"]: row for row in rows_of(decisions, _DECISION_COLUMNS, what="patch decisions")}
    lived = life.events_by_patch(events)
    return tuple(
        _view(round_key, row, judged.get(name), decided.get(name), lived.get(name, ()))
        for row in rows_of(patches, _PATCH_COLUMNS, what="patches")
        for name in [row["patch_id"]]
    )


def _view(
    round_key: str,
    patch: Mapping[str, Any],
    gate: Mapping[str, Any] | None,
    decision: Mapping[str, Any] | None,
    events: Sequence[life.Event],
) -> PatchView:
    changes = json.loads(patch["settings"] or "{}")
    evidence = "" if gate is None else gate["evidence"]
    stored = "none" if decision is None else str(decision["decision"])
    state = life.standing(stored, events)
    return PatchView(
        patch_id=patch["patch_id"],
        target=f"{patch['skill']}/{patch['section']}",
        place=f"section {patch['section']} of the skill {patch['skill']}",
        description=patch["description"],
        base_hash=patch["base_hash"],
        result_hash=patch["result_hash"],
        changes=tuple((name, number(old), number(new)) for name, (old, new) in sorted(changes.items())),
        findings=tuple(patch["findings"] or ()),
        gate="not judged" if gate is None else _judged(gate),
        compared=compared(evidence),
        cost=cost_of(evidence),
        standing=state,
        decided=_decided(decision),
        since=life.since(stored, events),
        history=life.history(stored, events),
        diff=patch["diff"] or "",
        commands=to_decide(patch["patch_id"], gate["verdict"] if gate else None) if state == "wait" else (),
        ways=life.ways(patch["patch_id"], patch["skill"], round_key, state),
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
    state = _DECIDED.get(decision["decision"], decision["decision"])
    return f"{state} by {life.by_words(decision['by'])}{when}: {decision['reason']}"


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


def seed_table(evaluations: pl.DataFrame) -> Table:
    """What each seed says alone, of the patches that were judged with several."""
    rows = rows_of(evaluations, _GATE_COLUMNS, what="patch evaluations")
    shown = tuple(_seed_row(row, one) for row in rows for one in _seeds(row))
    columns = ("Patch", "Seed", "Baseline", "Candidate", "Difference")
    return Table(
        "Gate by seed", columns, shown, frozenset({1, 2, 3, 4}), "No patch was judged with several seeds."
    )


def _seeds(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    evidence = json.loads(row["evidence"] or "{}")
    known: Sequence[Mapping[str, Any]] = (evidence.get("measured") or {}).get("by_seed", ())
    return known if evidence.get("facts") and len(known) > 1 else ()


def _seed_row(row: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, ...]:
    sides = (one.get("baseline"), one.get("candidate"))
    told = ("not kept" if side is None else fixed(side, 3) for side in sides)
    return (row["patch_id"], str(one["seed"]), *told, signed(one["difference"], 3))


def replay_table(replays: pl.DataFrame) -> Table:
    """Prose of earlier rounds that waited when this one opened, on this round's sessions."""
    shown = tuple(map(_replay_row, rows_of(replays, _GATE_COLUMNS, what="replays")))
    caption = "Patches of earlier rounds that wait, on the sessions since"
    return Table(caption, _REPLAYED, shown, frozenset({2, 3, 4, 5}), "None waited.")


def _replay_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    patch, judge, n, baseline, candidate, measured, _, verdict, reason = _ledger_row(row)
    return (patch, judge, n, baseline, candidate, measured, verdict, reason)


def rollback_table(rollbacks: pl.DataFrame) -> Table:
    """What this round took out of the skills because the model got worse with it."""
    rows = tuple(
        (
            row["patch_id"], row["skill"], _RESULTS.get(row["result"], row["result"]),
            life.by_words(row["approved_by"] or "nobody"), row["reason"],
        )
        for row in rows_of(rollbacks, _ROLLBACK_COLUMNS, what="rollbacks")
    )  # fmt: skip
    columns = ("Patch", "Skill", "Result", "Approved by", "Why")
    return Table("Taken out because this round got worse", columns, rows, empty="Nothing.")


def taken_out(rollbacks: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    """The patches that the round took out by itself, each with its skill."""
    rows = rows_of(rollbacks, _ROLLBACK_COLUMNS, what="rollbacks")
    return tuple((row["patch_id"], row["skill"]) for row in rows if row["result"] == "rolled_back")


def patch_card(patches: tuple[PatchView, ...]) -> Card:
    """How many patches stand how, and what those change that are, or will be, in a skill."""
    counts = {state: sum(patch.standing == state for patch in patches) for state in life.STANDINGS}
    told = [f"{counts[state]} {word}" for state, word in life.STANDINGS.items() if counts[state]]
    changed = [change_words(patch) for patch in patches if patch.standing in {"in", "approve"}]
    figure = "1 patch" if len(patches) == 1 else plural(len(patches), "patche")
    return Card("Patches", figure, (*told, *changed) or ("nothing was proposed",))


def change_words(patch: PatchView) -> str:
    """What a patch changes, in few words: its settings, else its description."""
    moves = ", ".join(f"{name} {old} → {new}" for name, old, new in patch.changes)
    return moves or patch.description
