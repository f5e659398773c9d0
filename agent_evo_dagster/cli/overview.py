"""One round on one screen of a terminal. Reads what is stored; computes nothing."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from agent_evo_dagster.analysis.deciding import to_decide
from agent_evo_dagster.analysis.display import one_line
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.views.life import by_words
from agent_evo_dagster.analysis.views.not_proposed import NOT_KEPT
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.not_proposed import not_proposed
from agent_evo_dagster.rounds.opening import origin_told
from agent_evo_dagster.rounds.runs import train_dir
from agent_evo_dagster.rounds.state import RoundState, read_state
from agent_evo_dagster.rounds.status import RoundStatus, sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.warehouse import Warehouse

_MOST_REASONS = 5  # why something is not proposed, on the screen
_MOST_OF_A_REASON = 300  # characters


def print_round(settings: Settings, key: str) -> None:
    """Print what the round did and where its files are."""
    store, console = RoundStore(settings.rounds), Console(soft_wrap=True)
    manifest = store.load(key)
    status, state = store.status(key), read_state(settings, key)
    if manifest.passed_over:
        console.print(origin_told(manifest), markup=False, highlight=False)
    if state.state == "failed":
        print_failure(console, key, state)
    if status is None:
        run = "" if state.state in {"failed", "running"} else f" Run it: agent-evo rounds run {key}"
        console.print(
            f"{key} is open and not finished: {len(sessions_of(manifest))} sessions, "
            f"bank {manifest.bank_hash[:12]}.{' It is being run.' if state.state == 'running' else run}"
        )
        return
    console.print(_summary(status))
    _print_patches(console, settings, key)
    for line in _not_proposed(store, key):
        console.print(line, markup=False, highlight=False)
    bank = SkillBank.open(settings.bank_path)
    folders = Counter((bank.project / ref.output).parents[1] for ref in bank.skills())
    for line in (
        f"report      {settings.root / status.optimization.report_path}",
        f"checkpoint  {train_dir(settings.runs, key) / 'checkpoint'}",
        *(f"skills      {count} in {folder}" for folder, count in folders.items()),
    ):
        console.print(line, markup=False)


def print_failure(console: Console, key: str, state: RoundState, *, characters: int = 4000) -> None:
    """Print each step of the round that failed and why, so many characters of it, and how to go on."""
    reasons = {one.step: excerpt(one_line(one.message), characters) for one in state.failures}
    told = [f"{key} failed at {step}: {reason}" for step, reason in reasons.items()]
    for line in told or [f"{key} {state.told}"]:
        console.print(line, markup=False, highlight=False)
    then = "Mend what it names, then go on" if state.failures else "Go on"
    console.print(f"{then}: agent-evo rounds run {key}", highlight=False)


def _summary(status: RoundStatus) -> Table:
    table = Table(title=f"{status.key}: {status.status}", show_header=False, title_justify="left")
    training, optimization = status.training, status.optimization
    table.add_row(
        "sessions", f"{status.sessions} ({status.events} events, {status.quarantined} broken lines)"
    )
    table.add_row("training", f"{training.steps} steps, last reward {_shown(training.reward)}")
    table.add_row(
        "held-out accuracy",
        f"{_shown(training.accuracy_before)} -> {_shown(training.accuracy_after)} (sampled)",
    )
    table.add_row("findings", str(optimization.findings))
    table.add_row(
        "patches",
        f"{optimization.patches_generated} proposed, {optimization.patches_accepted} approved, "
        f"{optimization.patches_rejected} rejected, {optimization.patches_waiting} waiting",
    )
    return table


def _print_patches(console: Console, settings: Settings, key: str) -> None:
    warehouse = Warehouse(settings.warehouse)
    patches = warehouse.read(("skill_patches",), key)
    decisions = warehouse.read(("patch_decisions",), key)
    ledger = ledger_of(settings.bank_path)
    for row in patches.join(decisions, on="patch_id").iter_rows(named=True):
        console.print(
            f"patch       {row['patch_id']} {row['skill']}: {row['description']} "
            f"[{row['decision']}: {row['reason']}]",
            markup=False,
        )
        if taken_out := ledger.rollback(row["patch_id"]):
            console.print(
                f"            taken out of the skill by {by_words(taken_out.by)} on "
                f"{taken_out.at:%Y-%m-%d %H:%M} UTC: {taken_out.reason}",
                markup=False,
            )
        if row["decision"] == "wait":
            for line in to_decide(row["patch_id"], row["gate_verdict"]):
                console.print(f"            {line}", markup=False)


def _not_proposed(store: RoundStore, key: str) -> list[str]:
    """What was asked for and is not proposed, a line each, and how much more there is."""
    try:
        kept = not_proposed(store, key)
    except RoundError as error:
        return [str(error)]
    if kept is None:
        return [f"not proposed: {NOT_KEPT[0].lower()}{NOT_KEPT[1:]}"]
    told = [
        f"not proposed: {excerpt(one_line(f'{one.wanted} ({one.finding}): {one.reason}'), _MOST_OF_A_REASON)}"
        for one in kept[:_MOST_REASONS]
    ]
    left = len(kept) - len(told)
    return [*told, f"not proposed: {left} more; the report has all: agent-evo report {key}"] if left else told


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"
