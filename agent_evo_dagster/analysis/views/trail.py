"""The evidence of findings, step by step: excerpts of trajectories, bounded in number and in text. No rule.

Each finding is given some places in turn, so that one with many leaves room for the others.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

import polars as pl

from agent_evo_dagster.analysis.display import bounded
from agent_evo_dagster.analysis.findings import Json, canonical_json
from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.signatures import parse_json
from agent_evo_dagster.analysis.text import duration, excerpt, number, plural
from agent_evo_dagster.analysis.views.page import Excerpt, FindingView, Reference, StepView
from agent_evo_dagster.analysis.views.terms import QUOTED_HERE
from agent_evo_dagster.trajectories.types import StepKind

PLACES_OF_ONE = 3  # steps of one finding that are linked
MOST_PLACES = 60  # of all findings together
AROUND = 2  # steps told before and after each
# Characters of each text of a step that is evidence, and of one beside it: with the numbers above, the
# excerpts stay below 1.5 MB whatever the sessions hold.
MOST_TEXT, MOST_TEXT_AROUND = 700, 240

_PLACE_COLUMNS = ("step_id", "trajectory_id", "index", "kind", "event_ids")
_SEGMENT_COLUMNS = ("segment_id", "skill", "step_ids")
_STEP_COLUMNS = (
    "step_id", "trajectory_id", "session_id", "agent_id", "agent_type", "index", "kind", "mark", "started_at",
    "duration_ms", "tool_name", "tool_input", "tool_response", "error", "outcome", "outcome_reason", "text",
)  # fmt: skip
_UNNAMED = ("command", "stdout")  # fields that say what they are
_TITLES = {StepKind.PROMPT: "Prompt", StepKind.MESSAGE: "The agent says"}

Found = Mapping[str, Sequence[FindingView]]  # step -> the findings that it is evidence of
Row = Mapping[str, Any]
Window = tuple[str, int, int]  # trajectory, first and last index


@dataclass(frozen=True, slots=True)
class Trail:
    """The excerpts, and the places in them that each finding points to, by its id."""

    excerpts: tuple[Excerpt, ...]
    places: Mapping[str, tuple[Reference, ...]]


def trail(findings: Iterable[FindingView], steps: pl.DataFrame, segments: pl.DataFrame) -> Trail:
    """Excerpts around the steps that are evidence of `findings`.

    Raises:
        AnalysisError: a frame lacks a column.
    """
    places = rows_of(steps, _PLACE_COLUMNS, what="steps")
    stretches = rows_of(segments, _SEGMENT_COLUMNS, what="segments")
    found = _chosen(findings, places, stretches)
    skills = {step: row["skill"] for row in stretches for step in row["step_ids"] or ()}
    rows = _rows_around(steps, _windows(places, found), found)
    anchors = {row["step_id"]: f"step-{count}" for count, row in enumerate(chain(*rows), start=1)}
    excerpts = tuple(_excerpt(group, anchors, found, skills) for group in rows)
    return Trail(excerpts, _references(excerpts))


def _chosen(
    findings: Iterable[FindingView],
    places: Sequence[Row],
    stretches: Sequence[Row],
) -> Found:
    """The steps that are shown, each with the findings it belongs to: one of each finding in turn."""
    homes = {item: row["step_id"] for row in places for item in (row["step_id"], *(row["event_ids"] or ()))}
    begins = {row["segment_id"]: row["step_ids"][0] for row in stretches if row["step_ids"]}
    queues = [
        [(step, finding) for step in _steps_of(finding.evidence, homes, begins)] for finding in findings
    ]
    chosen: dict[str, list[FindingView]] = defaultdict(list)
    for turn in zip_longest(*queues):
        for step, finding in filter(None, turn):
            if step in chosen or len(chosen) < MOST_PLACES:
                chosen[step].append(finding)
    return chosen


def _steps_of(evidence: Iterable[str], homes: Mapping[str, str], begins: Mapping[str, str]) -> list[str]:
    """The first steps that are meant: named, or of an event that is; else where a named segment begins."""
    ids = list(evidence)
    meant = [homes[item] for item in ids if item in homes] or [begins[item] for item in ids if item in begins]
    return list(dict.fromkeys(meant))[:PLACES_OF_ONE]


def _windows(places: Sequence[Row], found: Found) -> list[Window]:
    """Where to look, in order; windows that meet are one."""
    told: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for row in places:
        if row["kind"] != StepKind.LIFECYCLE or row["step_id"] in found:
            told[row["trajectory_id"]].append((row["index"], row["step_id"] in found))
    windows: list[Window] = []
    for trajectory, steps in sorted(told.items()):
        steps.sort()
        for at in (at for at, (_, chosen) in enumerate(steps) if chosen):
            first, last = steps[max(0, at - AROUND)][0], steps[min(len(steps) - 1, at + AROUND)][0]
            if windows and windows[-1][0] == trajectory and windows[-1][2] >= first:
                windows[-1] = (trajectory, windows[-1][1], last)
            else:
                windows.append((trajectory, first, last))
    return windows


def _rows_around(steps: pl.DataFrame, windows: Sequence[Window], found: Found) -> list[list[Row]]:
    """The steps of each window, with their texts; marks of the session's life are left out."""
    if not windows:
        return []
    near = steps.filter(pl.col("trajectory_id").is_in([trajectory for trajectory, _, _ in windows]))
    rows = [
        row
        for row in rows_of(near, _STEP_COLUMNS, what="steps")
        if row["kind"] != StepKind.LIFECYCLE or row["step_id"] in found
    ]
    rows.sort(key=lambda row: (row["index"], row["step_id"]))
    return [
        [row for row in rows if row["trajectory_id"] == trajectory and first <= row["index"] <= last]
        for trajectory, first, last in windows
    ]


def _excerpt(
    rows: Sequence[Row],
    anchors: Mapping[str, str],
    found: Found,
    skills: Mapping[str, str | None],
) -> Excerpt:
    first = rows[0]
    steps = tuple(
        _step(row, anchors[row["step_id"]], found.get(row["step_id"], ()), skills.get(row["step_id"]))
        for row in rows
    )
    count = sum(bool(step.findings) for step in steps)
    return Excerpt(
        excerpt(first["session_id"], 9).rstrip("…"),
        f"Session {excerpt(first['session_id'], 60)}, {_agent(first)}, from step {first['index']}",
        f"{plural(count, 'step')} of evidence; {QUOTED_HERE}",
        steps,
    )


def _agent(row: Row) -> str:
    if row["agent_id"] is None:
        return "main agent"
    return f"subagent {excerpt(row['agent_type'] or row['agent_id'], 40)}"


def _step(row: Row, anchor: str, findings: Sequence[FindingView], skill: str | None) -> StepView:
    texts = _texts(row, MOST_TEXT if findings else MOST_TEXT_AROUND)
    title = row["tool_name"] or _TITLES.get(row["kind"], row["mark"] or "step")
    return StepView(
        anchor=anchor,
        number=row["index"],
        title=excerpt(title, 60),
        gist=excerpt(texts[0][1].split("\n")[0], 90) if texts else "",
        outcome=row["outcome"] or "",
        facts=tuple(_facts(row, skill)),
        texts=texts,
        findings=tuple(Reference(finding.finding_id, finding.kind) for finding in findings),
    )


def _facts(row: Row, skill: str | None) -> Iterable[str]:
    if row["outcome_reason"]:
        yield f"told by {excerpt(row['outcome_reason'], 120)}"
    if isinstance(row["started_at"], datetime):
        yield f"{row['started_at']:%Y-%m-%d %H:%M:%S} UTC"
    if row["duration_ms"] is not None:
        seconds = row["duration_ms"] / 1000
        yield f"took {duration(seconds) if seconds >= 10 else f'{number(seconds, 2)} s'}"
    yield f"skill {excerpt(skill, 60)}" if skill else "no skill"


def _texts(row: Row, limit: int) -> tuple[tuple[str, str], ...]:
    """What is known of a step, by its label; what is empty is left out."""
    told = (
        ("Text", row["text"] or ""),
        ("Input", _words(row["tool_input"])),
        ("Error", row["error"] or ""),
        ("Result", "" if row["error"] else _words(row["tool_response"])),
    )
    return tuple((label, bounded(text, limit)) for label, text in told if text.strip())


def _words(text: str | None) -> str:
    """JSON text for people: a text as it is, the fields of an object one a line."""
    value = parse_json(text)
    if isinstance(value, Mapping):
        told = {key: item for key, item in value.items() if item is not False and item not in ("", None)}
        first = next((key for key in _UNNAMED if isinstance(told.get(key), str)), None)
        lines = [] if first is None else [_plain(told.pop(first))]
        return "\n".join([*lines, *(f"{key}: {_plain(item)}" for key, item in told.items())])
    return (text or "") if value is None else _plain(value)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _references(excerpts: Iterable[Excerpt]) -> dict[str, tuple[Reference, ...]]:
    """By finding, in the order of the page."""
    places: dict[str, list[Reference]] = defaultdict(list)
    for one in excerpts:
        for step in one.steps:
            ended = f", {step.outcome}" if step.outcome else ""
            words = f"step {step.number} of {one.session}: {step.title}{ended}"
            for finding in step.findings:
                places[finding.anchor].append(Reference(step.anchor, words))
    return {finding: tuple(found) for finding, found in places.items()}
