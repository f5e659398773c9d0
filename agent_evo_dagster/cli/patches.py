"""`agent-evo patches`: look at what rounds propose, and decide on it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from agent_evo_dagster.analysis.deciding import command
from agent_evo_dagster.cli.patch_views import print_patch, print_patches
from agent_evo_dagster.cli.project import current_settings
from agent_evo_dagster.cli.telling import plain, screen
from agent_evo_dagster.patches.approvals import DecisionRequest
from agent_evo_dagster.patches.conflicts import conflicts
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.ledger import ENDED, Ledger
from agent_evo_dagster.patches.records import ConsentRecord, DecisionRecord
from agent_evo_dagster.patches.review import NO_ROUND, Review, find_review, reviews
from agent_evo_dagster.rounds.adoption import changed_sections
from agent_evo_dagster.rounds.deciding import Decided, Desk, desk_of, expiry_of
from agent_evo_dagster.rounds.making import merge, rebase
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse

app = typer.Typer(
    name="patches",
    help="List, show, merge, approve, reject and withdraw what rounds propose.",
    no_args_is_help=True,
)

_Id = Annotated[str, typer.Argument(metavar="ID", help="The patch, by its id or the beginning of it.")]
_Ids = Annotated[
    list[str], typer.Argument(metavar="ID...", help="The patches, each by its id or the beginning of it.")
]
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
    print_patches(screen(), found)
    for conflict in conflicts(found):
        Console(soft_wrap=True).print(plain(f"conflict: {conflict.line()}"))
    _tell_torn(ledger)


@app.command()
def show(patch_id: _Id) -> None:
    """Show one patch: its diff, the evidence, the decision, and how to decide."""
    print_patch(Console(soft_wrap=True), _find(patch_id), _ledger())


@app.command()
def approve(patch_ids: _Ids, by: _By, reason: _Reason, override: _Override = False) -> None:
    """Approve patches, all of a round or some; its next run brings them into the skill."""
    decided = _decide("approve", patch_ids, by, reason, override=override)
    changed = changed_sections(_desk().bank, [review.patch for review, _ in decided])
    for review, record in decided:
        if isinstance(record, ConsentRecord):
            typer.echo(f"Another person must approve {review.patch.id}, too.")
        elif review.patch.id in changed:
            typer.echo(
                f"It cannot be adopted: {changed[review.patch.id]}. Bring it onto the section as it is: "
                f"agent-evo patches rebase {review.patch.id} --by NAME; or take it back: "
                f"{command('withdraw', review.patch.id)}",
                err=True,
            )
    keys = dict.fromkeys(review.round for review, record in decided if isinstance(record, DecisionRecord))
    for key in keys:
        typer.echo(f"Bring it into the skill with: agent-evo rounds run {key} --only adopt")
    _tell_waiting(review.round for review, _ in decided)


@app.command()
def reject(patch_ids: _Ids, by: _By, reason: _Reason) -> None:
    """Reject patches; the same edits are not proposed again."""
    _tell_settled(review.round for review, _ in _decide("reject", patch_ids, by, reason))


@app.command()
def withdraw(patch_ids: _Ids, by: _By, reason: _Reason) -> None:
    """Take patches back that wait or were approved, and are in no skill yet; on record."""
    _tell_settled(review.round for review, _ in _decide("withdraw", patch_ids, by, reason))


@app.command("merge")
def merge_patches(first: _Id, second: _Id, by: _By) -> None:
    """Have one patch made of two that wait and whose lines do not touch; the next round judges it."""
    _tell_made(merge(_desk(), first, second, by=by, at=datetime.now(UTC)))


@app.command("rebase")
def rebase_patch(patch_id: _Id, by: _By) -> None:
    """Have a patch made again for its section, which has changed since; the next round judges it."""
    _tell_made(rebase(_desk(), patch_id, by=by, at=datetime.now(UTC)))


@app.command()
def sync() -> None:
    """Carry out the decisions in approvals/*.yaml of the bank, and end the wait of what waited too long."""
    synced = _desk().sync(datetime.now(UTC), expiry=expiry_of(_settings()))
    for record in synced.records:
        _confirm(record)
    for record in synced.expired:
        typer.echo(f"{record.patch_id} is expired: {record.reason} (record {record.hash[:12]}).")
    if not synced.records and not synced.expired:
        typer.echo("Nothing new to decide.")
    for name, problem in synced.problems.items():
        Console(stderr=True, soft_wrap=True).print(plain(f"{name}: {problem}"))
    raise typer.Exit(1 if synced.problems else 0)


def _decide(
    word: str, patch_ids: list[str], by: str, reason: str, *, override: bool = False
) -> list[tuple[Review, Decided]]:
    """Decide on the patches whose ids are, or begin with, `patch_ids`, and say so."""
    desk = _desk()
    found = desk.reviews()
    chosen = [find_review(found, name) for name in patch_ids]
    names = [review.patch.id for review in chosen]
    request = DecisionRequest.model_validate({"by": by, "reason": reason, "override": override, word: names})
    records = desk.carry_out(request, datetime.now(UTC))
    for record in records:
        _confirm(record)
    by_id = {review.patch.id: review for review in chosen}
    return [(by_id[record.patch_id], record) for record in records]


def _tell_made(review: Review) -> None:
    """Show what was made, and what comes next."""
    typer.echo(f"{review.patch.id} is made of {' and '.join(review.patch.supersedes)}. It is not judged yet.")
    print_patch(Console(soft_wrap=True), review, _ledger())
    if not review.taken_up:
        typer.echo("\nThe next round judges it: agent-evo rounds run")


def _tell_waiting(keys: Iterable[str]) -> None:
    """What of the same rounds still waits: a set may be approved in part."""
    rounds = set(keys)
    waiting = [review.patch.id for review in _desk().reviews() if review.waits and review.round in rounds]
    if waiting:
        typer.echo(f"Still waiting in the same round: {', '.join(waiting)}")


def _tell_settled(keys: Iterable[str]) -> None:
    """How status and report of the rounds come to tell of it."""
    for key in dict.fromkeys(keys):
        if key != NO_ROUND:
            typer.echo(f"Bring it into the status of its round with: agent-evo rounds run {key} --only adopt")


def _settings() -> Settings:
    """The home that the environment names, else that of the checkout."""
    return current_settings()


def _ledger() -> Ledger:
    return ledger_of(_settings().bank_path)


def _find(patch_id: str) -> Review:
    return find_review(reviews(Warehouse(_settings().warehouse), _ledger()), patch_id)


def _desk() -> Desk:
    return desk_of(_settings())


def _confirm(record: Decided) -> None:
    against = ", against the gate" if record.override else ""
    verdict = "approved" if isinstance(record, ConsentRecord) else ENDED[record.decision]
    typer.echo(f"{record.patch_id} is {verdict} by {record.by}{against} (record {record.hash[:12]}).")


def _tell_torn(ledger: Ledger) -> None:
    torn = ledger.torn()
    if torn:
        typer.echo(
            f"{ledger.path} ends in {len(torn)} bytes of a record that was never finished; "
            f"the next decision moves them to {ledger.path.with_suffix('.torn').name}.",
            err=True,
        )
