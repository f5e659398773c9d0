"""The report as Markdown: readable as plain text, pictures told by sparklines. No content of its own."""

import re
from collections.abc import Iterable, Sequence
from itertools import repeat

from agent_evo_dagster.analysis.display import one_line, visible
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.views.life import STANDINGS
from agent_evo_dagster.analysis.views.page import (
    AllRounds,
    Card,
    FindingList,
    FindingView,
    Page,
    PatchView,
    Row,
    Table,
)
from agent_evo_dagster.analysis.views.terms import QUOTED, TERMS

# What could begin markup in the middle of a line; an underscore within a word cannot.
_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_BLOCK = re.compile(r"^(?:[#+=-](?=[#+=-]|\s|$)|[0-9]+(?=[.)](?:\s|$)))")
_SHOWN_EVIDENCE = 3


def render_markdown(page: Page) -> str:
    """The whole report."""
    parts: list[str] = [
        f"# {plain(page.round_key)}: {plain(page.verdict.headline)}",
        _bullets(map(plain, page.verdict.sentences)),
        *_waiting(page.patches),
        _bullets(map(_card, page.cards)),
        _bullets(f"{plain(plot.title)}: {plain(plot.line)}" for plot in page.plots),
        "## What was changed, and why",
        *(part for patch in page.patches for part in _patch(patch)),
        *_table(page.not_proposed),
        *_table(page.ledger),
        *_table(page.seeds),
        *(part for table in page.later for part in _table(table)),
        "## What was found in training",
        *_findings(page.training_findings),
        *_table(page.metrics),
        "## What was found in sessions",
        QUOTED,
        *_findings(page.session_findings),
        *_section("Where calls failed", page.sessions, QUOTED),
        *_section("The trained model", page.policy),
        *_section("What it ran with, and what it cost", page.provenance),
        _bullets(f"{plain(name)}: {plain(value)}" for name, value in page.facts),
        "## Look, repeat, undo",
        _bullets(f"{plain(what)}: {code(command)}" for what, command in page.commands),
        "## Words",
        _bullets(f"{plain(term)}: {plain(meaning)}" for term, meaning in TERMS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_all_rounds_markdown(page: AllRounds) -> str:
    """The page over all rounds."""
    parts: list[str] = [
        f"# {plain(page.verdict.headline)}",
        _bullets(map(plain, page.verdict.sentences)),
        _bullets(map(_card, page.cards)),
        _bullets(f"{plain(plot.title)}: {plain(plot.line)}" for plot in page.plots),
        *_section("Round by round", page.tables),
        "## Look, repeat, undo",
        _bullets(f"{plain(what)}: {code(command)}" for what, command in page.commands),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _card(card: Card) -> str:
    return f"{plain(card.title)}: {plain(card.figure)} ({plain('; '.join(card.notes))})"


def plain(text: str) -> str:
    """Text that Markdown and HTML leave as it is, on one line."""
    escaped = _BLOCK.sub(_escaped_start, _SPECIAL.sub(r"\\\1", one_line(text)))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("://", ":\\//"), ("www.", "www\\.")):
        escaped = escaped.replace(char, entity)  # the last two: some readers make bare addresses into links
    return escaped


def _escaped_start(match: re.Match[str]) -> str:
    start = match.group()
    return f"{start}\\" if start[0].isdigit() else f"\\{start}"


def code(text: str) -> str:
    """A code span that its content cannot end."""
    line = one_line(text)
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """A code block that its content cannot end."""
    shown = visible(text).rstrip("\n")
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _section(title: str, tables: Sequence[Table], note: str = "") -> list[str]:
    return [f"## {title}", note, *(part for table in tables for part in _table(table))]


def _table(table: Table) -> list[str]:
    if not table.rows:
        return [f"### {plain(table.caption)}", plain(table.empty)]
    rules = ["---:" if column in table.numeric else "---" for column in range(len(table.columns))]
    lines = [_cells(map(plain, table.columns)), _cells(rules)]
    lines += [
        _cells(_row(row, link)) for row, link in zip(table.rows, table.links or repeat(""), strict=False)
    ]
    return [f"### {plain(table.caption)}", "\n".join(lines)]


def _row(row: Row, link: str) -> list[str]:
    first, *rest = map(plain, row)
    return [f"[{first}](<{link}>)" if link else first, *rest]


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _waiting(patches: Sequence[PatchView]) -> list[str]:
    waiting = [patch for patch in patches if patch.commands]
    lines = [
        f"{plain(patch.target)}: {plain(patch.description)}\n"
        + "\n".join(f"  - {code(command)}" for command in patch.commands)
        for patch in waiting
    ]
    return ["**A person must decide:**", _bullets(lines)] if waiting else []


def _patch(patch: PatchView) -> list[str]:
    return [
        f"### {plain(patch.patch_id)} for {plain(patch.target)}: {STANDINGS[patch.standing]}",
        plain(patch.description),
        _bullets(
            [
                f"Where: {plain(patch.place)}",
                f"Base hash: {code(patch.base_hash)}, of the section before the patch",
                f"Result hash: {code(patch.result_hash)}, of the section after it",
                *(f"{plain(name)}: {plain(old)} → {plain(new)}" for name, old, new in patch.changes),
                f"Why: {plain('; '.join(_reasons(patch)) or 'no finding is named')}",
                f"Judged: {plain(patch.gate)}",
                *([f"Compared: {plain(patch.compared)}"] if patch.compared else []),
                *([f"Cost of judging: {plain(patch.cost)}"] if patch.cost else []),
                f"Decided: {plain(patch.decided)}",
                *(f"On record: {plain(line)}" for line in patch.history),
                *(f"{plain(what)}: {code(command)}" for what, command in patch.ways),
            ]
        ),
        fenced(patch.diff, "diff"),
    ]


def _reasons(patch: PatchView) -> list[str]:
    return [f"{one.anchor} {one.words}".strip() for one in patch.reasons]


def _findings(findings: FindingList) -> list[str]:
    more = [f"{findings.more} more are in the asset {code(findings.asset)}."] if findings.more else []
    return [_bullets(map(_finding, findings.shown)) or "Nothing.", *more]


def _finding(finding: FindingView) -> str:
    ids = [code(excerpt(item, 80)) for item in finding.evidence[:_SHOWN_EVIDENCE]]
    more = len(finding.evidence) - len(ids)
    hint = f"; hint: {plain(finding.hint)}" if finding.hint else ""
    return (
        f"**{plain(finding.severity)}** {plain(finding.kind)} ({code(finding.finding_id)}, "
        f"{plain(finding.target)}, confidence {plain(finding.confidence)}): {plain(finding.summary)}{hint}; "
        f"evidence: {', '.join(ids) or 'none'}{f' and {more} more' if more else ''}"
    )
