"""What the sessions did, in tables: calls by tool and outcome, failures by signature. No findings."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import polars as pl

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.frames import rows_of
from agent_evo_dagster.analysis.text import excerpt, number, plural
from agent_evo_dagster.analysis.views.page import Card, Table
from agent_evo_dagster.trajectories.types import Outcome

_MOST = 15
_MOST_NAMES = 40  # tools, skills: sessions may name any number
_SEGMENT_COLUMNS = ("kind", "skill", "session_id", "calls", "failures")


def session_card(steps: pl.DataFrame, calls: Sequence[Call], findings: int) -> Card:
    """How many sessions, calls and failures there were."""
    sessions = steps["session_id"].n_unique() if steps.width else 0
    failed = sum(call.failed for call in calls)
    unknown = sum(call.outcome is Outcome.UNKNOWN for call in calls)
    return Card(
        "Sessions",
        str(sessions),
        (
            f"{plural(len(calls), 'tool call')}, {failed} failed",
            f"{unknown} with an outcome that no field tells",
            plural(findings, "finding"),
        ),
    )


def calls_by_tool(calls: Sequence[Call]) -> Table:
    """Calls of each tool by outcome, with the fields that told the failures."""
    by_tool: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_tool[call.tool].append(call)
    ordered = sorted(
        by_tool.items(), key=lambda item: (-sum(c.failed for c in item[1]), -len(item[1]), item[0])
    )
    columns = ("Tool", "Calls", *(outcome.value for outcome in Outcome), "Told by")
    rows = tuple(_tool_row(tool, group) for tool, group in ordered[:_MOST_NAMES])
    caption = _of("Calls by tool and outcome", len(rows), len(ordered), "that failed most")
    return Table(caption, columns, rows, frozenset(range(1, 8)), "No tool was called.")


def _tool_row(tool: str, calls: list[Call]) -> tuple[str, ...]:
    tally = Counter(call.outcome for call in calls)
    reasons = Counter(excerpt(call.outcome_reason, 60) for call in calls if call.failed)
    told = ", ".join(f"{reason} ({count})" for reason, count in _most(reasons, 2))
    return (tool, str(len(calls)), *(str(tally[outcome]) for outcome in Outcome), told)


def failures_by_signature(calls: Sequence[Call]) -> Table:
    """The failures that occur most: equal tool and normal error."""
    groups: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls:
        if call.failed:
            groups[call.tool, call.signature].append(call)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = tuple(_signature_row(tool, signature, group) for (tool, signature), group in ordered[:_MOST])
    left = f" (the {_MOST} most frequent of {len(ordered)})" if len(ordered) > _MOST else ""
    columns = ("Tool", "Error", "Calls", "Sessions", "Skills", "First step")
    return Table(f"Failures by signature{left}", columns, rows, frozenset({2, 3}), "No call failed.")


def _signature_row(tool: str, signature: str, calls: list[Call]) -> tuple[str, ...]:
    skills = sorted({call.skill for call in calls if call.skill}) or ["no skill"]
    sessions = len({call.session_id for call in calls})
    return (tool, signature, str(len(calls)), str(sessions), ", ".join(skills), calls[0].step_id)


def segments_by_skill(segments: pl.DataFrame) -> Table:
    """Segments, calls and failures of each skill."""
    groups: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in rows_of(segments, _SEGMENT_COLUMNS, what="segments"):
        groups[str(row["skill"] or "(no skill)")].append(row)
    busiest = sorted(groups, key=lambda skill: (-len(groups[skill]), skill))[:_MOST_NAMES]
    rows = tuple(_skill_row(skill, groups[skill]) for skill in sorted(busiest))
    columns = ("Skill", "Segments", "Sessions", "Calls", "Failures", "Failed %")
    caption = _of("Segments by skill", len(rows), len(groups), "with the most segments")
    return Table(caption, columns, rows, frozenset(range(1, 6)), "There are no segments.")


def _skill_row(skill: str, rows: list[dict[str, object]]) -> tuple[str, ...]:
    calls, failures = (
        sum(v for row in rows if isinstance(v := row[key], int)) for key in ("calls", "failures")
    )
    sessions = len({row["session_id"] for row in rows})
    share = number(100 * failures / calls) if calls else "n/a"
    return (skill, str(len(rows)), str(sessions), str(calls), str(failures), share)


def quarantined(quarantine: pl.DataFrame) -> Table:
    """Lines that are no events, by reason."""
    rows = rows_of(quarantine, ("reason",), what="quarantined lines")
    counts = Counter(str(row["reason"]) for row in rows)
    shown = tuple((reason, str(count)) for reason, count in _most(counts, _MOST))
    return Table(
        "Lines that could not be read", ("Reason", "Lines"), shown, frozenset({1}), "Every line was read."
    )


def coverage(frame: pl.DataFrame) -> Table:
    """Calls that hooks and transcripts tell of, in sessions with a transcript and in those without."""
    names = ("calls_both", "calls_hook_only", "calls_transcript_only", "ends_added")
    rows = rows_of(frame, ("transcript", *names), what="capture coverage")
    shown = []
    for has_transcript, label in ((True, "with a transcript"), (False, "hooks alone")):
        group = [row for row in rows if row["transcript"] is has_transcript]
        totals = (sum(v for row in group if isinstance(v := row[name], int)) for name in names)
        shown += [(label, str(len(group)), *(str(total) for total in totals))] if group else []
    columns = ("Sessions", "Count", "Calls in both", "Only hooks", "Only transcript", "Ends only there")
    return Table("Calls captured", columns, tuple(shown), frozenset(range(1, 6)), "There are no sessions.")


def _most(counts: Counter[str], limit: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]


def _of(caption: str, shown: int, of: int, which: str) -> str:
    return caption if shown == of else f"{caption} (the {shown} of {of} {which})"
