"""Patches on a terminal: all in a table, or one with its diff, evidence and decision. Nothing is decided."""

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from agent_evo_dagster.analysis.deciding import command, to_decide
from agent_evo_dagster.analysis.views.life import by_words
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.cli.telling import plain
from agent_evo_dagster.patches.change import diff_hash, result_hash
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.review import Review
from agent_evo_dagster.patches.types import PatchStatus

# What `agent-evo patches list` tells of the states that its patches are in.
MEANINGS: Final[Mapping[PatchStatus, str]] = {
    PatchStatus.PROPOSED: "a round proposed it, or people made it of others; no judge has judged it",
    PatchStatus.EVALUATED: "judged, and nobody has decided: agent-evo patches show ID prints the commands",
    PatchStatus.APPROVED: "decided on, and not in the skill yet: agent-evo rounds run ROUND --only adopt",
    PatchStatus.ACTIVE: "in the skill",
    PatchStatus.REJECTED: "decided against; the same edit is not proposed again",
    PatchStatus.DEPRECATED: "was in the skill, and was taken out again",
    PatchStatus.ARCHIVED: "over before it was in a skill: withdrawn, expired, or another one stands for it",
}


def print_patches(console: Console, found: list[Review]) -> None:
    """Print every patch with the gate's verdict and the decision."""
    names = ("patch", "round", "skill", "change", "gate", "status", "by")
    show_rows(console, names, [_row(review) for review in found], folded=("skill", "change", "gate", "by"))
    for status, meaning in MEANINGS.items():
        if any(review.status is status for review in found):
            console.print(Text(f"{status.value:<10} {meaning}"), soft_wrap=True)


def _row(review: Review) -> list[str | Text]:
    evidence, decision = review.evidence, review.decision
    return [
        review.patch.id,
        review.round,
        plain(f"{review.patch.skill}#{review.patch.target_section}"),
        plain(_change(review)),
        evidence.verdict.value if evidence else "not judged",
        review.status.value,
        plain(by_words(decision.by) if decision else ""),
    ]


def _change(review: Review) -> str:
    return review.patch.description if review.settings == "{}" else review.patch.description.split(". ")[0]


def _print_diff(console: Console, diff: str) -> None:
    """Print every line whole, for a patch is approved by its ends, too: only the terminal wraps it.

    In a file it is what it is, tabs and spaces as well: other programs read it.
    """
    if console.is_terminal:
        console.print(Syntax("", "diff", background_color="default").highlight(diff), soft_wrap=True)
    else:
        console.file.write(diff)


def print_patch(console: Console, review: Review, ledger: Ledger) -> None:
    """Print one patch: its diff, the evidence, the decision, and how to decide."""
    patch, evidence, decision = review.patch, review.evidence, review.decision
    console.print(
        Text(f"{patch.id}  {patch.skill}#{patch.target_section}  {review.round}  {review.status.value}")
    )
    console.print(plain(patch.description))
    console.print(Text(f"findings: {', '.join(patch.findings) or 'none'}"))
    console.print(Text(f"base hash: {patch.base_hash}, of the section before the patch"))
    console.print(Text(f"result hash: {result_hash(review.base, patch)}, of the section after it"))
    if patch.supersedes:
        console.print(Text(f"made of: {', '.join(patch.supersedes)}"))
    console.print()
    _print_diff(console, plain(review.diff).plain)
    if evidence is None:
        console.print(Text("gate: not judged"))
    else:
        console.print(plain(f"gate: {evidence.verdict.value} ({evidence.judge}): {evidence.reason}"))
    for name in ledger.approvers(patch.id, diff_hash(patch)) if decision is None else ():
        console.print(plain(f"approved by {name}; another person must, too"))
    if decision is None:
        verdict = None if evidence is None else evidence.verdict
        lines = to_decide(patch.id, verdict) if review.taken_up else (command("reject", patch.id),)
        console.print(Text("\n  ".join(["\nDecide with:", *lines])))
        return
    against = ", against the gate" if decision.override else ""
    when = f"{decision.at:%Y-%m-%d %H:%M} UTC"
    console.print(
        plain(f"decision: {decision.decision} by {by_words(decision.by)}, {when}{against}: {decision.reason}")
    )
