"""`agent-evo patches`: look at what rounds propose, and decide on it."""

import unicodedata
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.patches.decisions import approve as record_approval
from agent_evo_dagster.patches.decisions import command, ledger_of
from agent_evo_dagster.patches.decisions import reject as record_rejection
from agent_evo_dagster.patches.ledger import Ledger
from agent_evo_dagster.patches.records import DecisionRecord
from agent_evo_dagster.patches.review import Review, find_review, reviews
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.warehouse import Warehouse

app = typer.Typer(
    name="patches", help="List, show, approve and reject what rounds propose.", no_args_is_help=True
)

_Id = Annotated[str, typer.Argument(metavar="ID", help="The patch, by its id or the beginning of it.")]
_By = Annotated[str, typer.Option("--by", help="Who decides: your name, as it will stand in the record.")]
_Reason = Annotated[str, typer.Option("--reason", help="Why, for whoever reads the record.")]
_Override = Annotated[bool, typer.Option("--override", help="Approve against the gate; it is recorded so.")]


@app.command("list")
def list_patches() -> None:
    """Show every proposed patch with the gate's verdict and the decision."""
    ledger = _ledger()
    found = reviews(Warehouse(_settings().warehouse), ledger)
    if not found:
        typer.echo("No round has proposed a patch yet. Run one: agent-evo rounds run")
        return
    Console().print(_table(found))
    _tell_torn(ledger)


@app.command()
def show(patch_id: _Id) -> None:
    """Show one patch: its diff, the evidence, the decision, and how to decide."""
    _show(Console(), _find(patch_id))


@app.command()
def approve(patch_id: _Id, by: _By, reason: _Reason, override: _Override = False) -> None:
    """Approve a patch; the next run of its round brings it into the skill."""
    review = _find(patch_id)
    # Adoption would refuse it: an approval on record could then neither be carried out nor taken back.
    SkillBank.open(_settings().bank_path).require_target(review.patch.skill, review.patch.id)
    gate = review.evidence.verdict if review.evidence else None
    record = record_approval(
        _ledger(), review.patch, gate=gate, by=by, reason=reason, at=datetime.now(UTC), override=override
    )
    _confirm(record)
    typer.echo(f"Bring it into the skill with: agent-evo rounds run {review.round} --only adopt")


@app.command()
def reject(patch_id: _Id, by: _By, reason: _Reason) -> None:
    """Reject a patch; the same edit is not proposed again."""
    review = _find(patch_id)
    gate = review.evidence.verdict if review.evidence else None
    record = record_rejection(_ledger(), review.patch, gate=gate, by=by, reason=reason, at=datetime.now(UTC))
    _confirm(record)


def _settings() -> Settings:
    """The home that the environment names, else that of the checkout."""
    return current_settings()


def _ledger() -> Ledger:
    return ledger_of(_settings().bank_path)


def _find(patch_id: str) -> Review:
    return find_review(reviews(Warehouse(_settings().warehouse), _ledger()), patch_id)


def _confirm(record: DecisionRecord) -> None:
    against = ", against the gate" if record.override else ""
    verdict = "approved" if record.decision == "approve" else "rejected"
    typer.echo(f"{record.patch_id} is {verdict} by {record.by}{against} (record {record.hash[:12]}).")


def _tell_torn(ledger: Ledger) -> None:
    torn = ledger.torn()
    if torn:
        typer.echo(
            f"{ledger.path} ends in {len(torn)} bytes of a record that was never finished; "
            f"the next decision moves them to {ledger.path.with_suffix('.torn').name}.",
            err=True,
        )


def _table(found: list[Review]) -> Table:
    table = Table()
    table.add_column("patch", no_wrap=True, min_width=18)  # an id is typed again: it is never cut
    for name in ("round", "skill", "change", "gate", "status", "by"):
        table.add_column(name, overflow="fold")
    for review in found:
        evidence, decision = review.evidence, review.decision
        table.add_row(
            review.patch.id,
            review.round,
            _plain(f"{review.patch.skill}#{review.patch.target_section}"),
            _plain(_change(review)),
            evidence.verdict.value if evidence else "not judged",
            review.status.value,
            _plain(decision.by if decision else ""),
        )
    return table


def _change(review: Review) -> str:
    return review.patch.description if review.settings == "{}" else review.patch.description.split(". ")[0]


def _show(console: Console, review: Review) -> None:
    patch, evidence, decision = review.patch, review.evidence, review.decision
    console.print(
        Text(f"{patch.id}  {patch.skill}#{patch.target_section}  {review.round}  {review.status.value}")
    )
    console.print(_plain(patch.description))
    console.print(Text(f"findings: {', '.join(patch.findings) or 'none'}\n"))
    # Wrapped: who approves a line must have seen its end.
    console.print(Syntax(_plain(review.diff).plain, "diff", background_color="default", word_wrap=True))
    if evidence is None:
        console.print(Text("gate: not judged"))
    else:
        console.print(_plain(f"gate: {evidence.verdict.value} ({evidence.judge}): {evidence.reason}"))
    if decision is None:
        console.print(
            Text(f"\nDecide with:\n  {command('approve', patch.id)}\n  {command('reject', patch.id)}")
        )
        return
    against = ", against the gate" if decision.override else ""
    when = f"{decision.at:%Y-%m-%d %H:%M} UTC"
    console.print(
        _plain(f"decision: {decision.decision} by {decision.by}, {when}{against}: {decision.reason}")
    )


def _plain(text: str) -> Text:
    """`text` as it is, with what would drive the terminal made visible, and no markup."""
    shown = (
        character
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
        else f"\\x{ord(character):02x}"
        for character in text
    )
    return Text("".join(shown))
