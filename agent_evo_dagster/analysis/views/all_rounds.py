"""All rounds side by side: how each went, what it proposed, what became of that, and what it cost."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from agent_evo_dagster.analysis.text import excerpt, fixed, number, plural
from agent_evo_dagster.analysis.views.costs import UNITS, CostLine, cost_cell, cost_columns, whole
from agent_evo_dagster.analysis.views.course import Point, course_of
from agent_evo_dagster.analysis.views.gate import change_words
from agent_evo_dagster.analysis.views.life import STANDINGS, Event, by_words, event_words, events_by_patch
from agent_evo_dagster.analysis.views.page import Card, PatchView, Table, Verdict
from agent_evo_dagster.analysis.views.policy import Changes

MOST_ROUNDS = 200  # the last ones are shown
MOST_PATCHES = 200
MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class RoundLine:
    """One round, in a line of the page over all."""

    key: str
    opened_at: datetime
    status: str  # a word such as "complete" or "open"; of a round that failed, at which step
    sessions: int
    parent: str | None  # the round that was the last to end when it was opened
    starts_from: str  # whose model it trains, in words: that of its parent, or a base
    request: str
    settings: Mapping[str, str]  # of the training run: name -> JSON text; empty where it has none
    steps: int
    reward: float | None  # of the last step
    changes: Changes
    patches: tuple[PatchView, ...]
    costs: tuple[CostLine, ...]  # empty: not all of it is stored
    problem: str  # why something of it cannot be shown; empty: nothing
    link: str  # to its report, from the page; empty where it has none


def headline(rounds: Sequence[RoundLine], trend: pl.DataFrame) -> Verdict:
    """All rounds in one line, and the sentences that give its figures."""
    if not rounds:
        return Verdict("No round is open yet.", ("Open one: agent-evo rounds open",), "even")
    states = Counter(patch.standing for one in rounds for patch in one.patches)
    sentences = [_progress(trend)]
    if waiting := states["wait"]:
        sentences.append(f"{_patches(waiting)} {'waits' if waiting == 1 else 'wait'} for a person.")
    sentences += [f"{one.key}: {one.problem}" for one in rounds if one.problem]
    told = f"{_patches(states['in'])} in the skills, {states['out']} taken out again"
    return Verdict(f"{plural(len(rounds), 'round')}; {told}.", tuple(sentences), "even")


def _progress(trend: pl.DataFrame) -> str:
    """From where the line of the newest round began to where it is; rounds beside it are left out."""
    course = course_of(trend, "sampled")
    if course is None or course.start is None:
        return "No round has evaluated its model yet."
    first, last = course.start, course.line[-1]
    return (
        f"Held-out accuracy, sampled: {_with_interval(first)} before {first.round}, "
        f"{_with_interval(last)} after {last.round}."
    )


def _with_interval(one: Point) -> str:
    return f"{fixed(one.accuracy)} [{fixed(one.low)}, {fixed(one.high)}]"


def cards(rounds: Sequence[RoundLine]) -> tuple[Card, ...]:
    """How many rounds and patches there are in which state, and what all of it took."""
    states = Counter(one.status for one in rounds)
    patches = [patch.standing for one in rounds for patch in one.patches]
    stand = Counter(patches)
    told = [f"{stand[state]} {word}" for state, word in STANDINGS.items() if stand[state]]
    costs = tuple(f"in all {told}" for told in whole([line for one in rounds for line in one.costs]))
    return (
        Card("Rounds", str(len(rounds)), tuple(f"{count} {name}" for name, count in sorted(states.items()))),
        Card("Sessions", str(sum(one.sessions for one in rounds)), ("taken by all rounds",)),
        Card("Patches", str(len(patches)), tuple(told) or ("nothing was proposed",)),
        Card("Training", plural(sum(one.steps for one in rounds), "step"), costs),
    )


def round_table(rounds: Sequence[RoundLine]) -> Table:
    """One row a round: how it began, how it went, what it proposed."""
    moved = _moved(rounds)
    last = rounds[-MOST_ROUNDS:]
    columns = (
        "Round", "Starts from", "Status", "Held-out accuracy", "Difference [interval]", "Patches",
        "Settings that changed", "Sessions", "Last reward", "Opened (UTC)", "Asked for",
    )  # fmt: skip
    return Table(
        _cut("Rounds", len(last), len(rounds)),
        columns,
        tuple(_round_row(one, moved[one.key]) for one in last),
        frozenset({3, 4, 7, 8}),
        "No round is open yet.",
        links=tuple(one.link for one in last),
    )


def _round_row(one: RoundLine, moved: str) -> tuple[str, ...]:
    accuracy = one.changes.get(("sampled", "accuracy"))
    stand = Counter(patch.standing for patch in one.patches)
    told = ", ".join(f"{count} {STANDINGS[state]}" for state, count in stand.items())
    return (
        one.key, one.starts_from, one.status,
        "not measured" if accuracy is None else f"{fixed(accuracy.before)} → {fixed(accuracy.after)}",
        "n/a" if accuracy is None else accuracy.words,
        told or "none", moved, str(one.sessions), number(one.reward),
        f"{one.opened_at:%Y-%m-%d %H:%M}", excerpt(one.request, 80) or "nothing beyond the skills",
    )  # fmt: skip


def _moved(rounds: Sequence[RoundLine]) -> dict[str, str]:
    """The settings of each round that differ from those of its parent."""
    by_key = {one.key: one for one in rounds}
    return {one.key: _moved_from(by_key.get(one.parent or ""), one) for one in rounds}


def _moved_from(parent: RoundLine | None, one: RoundLine) -> str:
    if not one.settings:
        return "no training yet"
    if one.parent is None:
        return "no round before it to compare with"
    if parent is None or not parent.settings:
        return f"those of {one.parent} are not stored"
    names = sorted({*parent.settings, *one.settings} - {"seed"})
    moves = [
        f"{name} {_value(parent.settings.get(name))} → {_value(one.settings.get(name))}"
        for name in names
        if parent.settings.get(name) != one.settings.get(name)
    ]
    return excerpt(", ".join(moves), 200) or "none"


def _value(text: str | None) -> str:
    value = None if text is None else json.loads(text)
    return number(value, 6) if isinstance(value, int | float | str) else "not set"


def patch_table(rounds: Sequence[RoundLine]) -> Table:
    """One row for each patch and round that proposed it, as it stands by now."""
    rows = [(one, patch) for one in rounds for patch in one.patches]
    last = rows[-MOST_PATCHES:]
    columns = ("Patch", "Round", "For", "Change", "Stands", "Judged", "Decided")
    return Table(
        _cut("Patches", len(last), len(rows)),
        columns,
        tuple(_patch_row(one, patch) for one, patch in last),
        empty="No round has proposed a patch yet.",
        links=tuple(f"{one.link}#{patch.patch_id}" if one.link else "" for one, patch in last),
    )


def _patch_row(one: RoundLine, patch: PatchView) -> tuple[str, ...]:
    stands = STANDINGS[patch.standing] + (f"; {patch.since}" if patch.since else "")
    change = excerpt(change_words(patch), 160)
    decided = patch.decided.split(": ")[0]  # the reason stands in the report
    return (patch.patch_id, one.key, patch.target, change, stands, patch.gate, decided)


def record_table(life: pl.DataFrame) -> Table:
    """What is on record of patches (LIFE_SCHEMA), the newest first."""
    events: list[tuple[str, Event]] = [
        (name, event) for name, found in events_by_patch(life).items() for event in found
    ]
    events.sort(key=lambda item: item[1]["at"], reverse=True)
    rows = tuple(
        (
            f"{event['at']:%Y-%m-%d %H:%M}", name, event_words(event["event"]),
            by_words(event["by"] or ""),
            event["round"] or "", excerpt(event["reason"] or "", 300),
        )
        for name, event in events[:MOST_EVENTS]
    )  # fmt: skip
    columns = ("When (UTC)", "Patch", "What", "By", "In", "Why")
    return Table(_cut("On record, the newest first", len(rows), len(events)), columns, rows, empty="Nothing.")


def cost_by_round(rounds: Sequence[RoundLine]) -> Table:
    """What each round took, by who spent it, in units that are the same on every machine."""
    last = [one for one in rounds if one.costs][-MOST_ROUNDS:]
    told = cost_columns([one.costs for one in last])
    rows = tuple((one.key, *(cost_cell(one.costs, *column) for column in told)) for one in last)
    columns = ("Round", *(f"{what}: {unit if unit in UNITS else f'{unit}s'}" for what, unit in told))
    return Table("Cost by round", columns, rows, frozenset(range(1, len(columns))), "Nothing was spent.")


def _cut(caption: str, shown: int, of: int) -> str:
    return caption if shown == of else f"{caption} (the last {shown} of {of})"


def _patches(count: int) -> str:
    return "1 patch" if count == 1 else plural(count, "patche")
