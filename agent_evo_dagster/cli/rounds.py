"""`agent-evo rounds`: open, list, run, watch and show rounds."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from agent_evo_dagster.cli import comparing, watching
from agent_evo_dagster.cli.operating import OperatorOption, Spending, chosen_operator, operated
from agent_evo_dagster.cli.overview import print_failure, print_round
from agent_evo_dagster.cli.project import bank_of, launch, project_root, settings_of
from agent_evo_dagster.cli.tables import show_rows
from agent_evo_dagster.cli.telling import plain, screen
from agent_evo_dagster.errors import RoundError, SettingsError
from agent_evo_dagster.operators.direct import Direct
from agent_evo_dagster.operators.protocol import Operator
from agent_evo_dagster.rounds.configuration import asked_config, require_understood
from agent_evo_dagster.rounds.opening import RoundRequest, open_round, origin_told, to_go_on
from agent_evo_dagster.rounds.services import require_services
from agent_evo_dagster.rounds.state import RoundState, state_of
from agent_evo_dagster.rounds.status import sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import OperatorName, RoundManifest
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.config_sources import ResolvedConfig

app = typer.Typer(no_args_is_help=True, help="Rounds of evolution: open, list, run, watch, show.")

app.command("watch")(watching.watch)
app.command("compare")(comparing.compare)

JOBS = {
    "all": "evolution_round",
    "skills": "optimize_skills",
    "training": "train_policy",
    "adopt": "adopt",
}
INTERRUPTED = 130  # the exit code of what Ctrl-C ended
_OF_A_FAILURE = 300  # characters in the list; `agent-evo rounds show` has all
Request = Annotated[
    str,
    typer.Option(
        "--request", help='What to train, in plain language (English or Chinese); "" is no request.'
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of data, sampling and optimiser.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A training setting for this round.")
]
Open = Annotated[bool, typer.Option("--include-open-sessions", help="Take sessions that have not ended.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Go on with a request of which nothing was understood.")
]
Empty = Annotated[bool, typer.Option("--allow-empty", help="Train without any captured session.")]


@app.command("open")
def open_(  # noqa: PLR0917 (options of a command are given by name)
    request: Request = "",
    seed: Seed = 0,
    set_: Set = None,
    include_open: Open = False,
    allow_empty: Empty = False,
    anyway: Anyway = False,
    operator: OperatorOption = "direct",
    budget: Spending = None,
) -> None:
    """Open the next round: freeze what it reads, and register it in Dagster."""
    root = project_root()
    settings = settings_of(root)
    ask = RoundRequest(request, seed, overrides(set_ or ()), include_open, allow_empty, anyway=anyway)
    manifest = _open(settings, ask, chosen_operator(operator, budget or (), settings))
    code = launch(root, settings, manifest.key)
    screen().print(f"Opened {manifest.key}. Run it: agent-evo rounds run {manifest.key}")
    raise typer.Exit(code)


@app.command()
def run(  # noqa: PLR0917 (options of a command are given by name)
    key: Annotated[str | None, typer.Argument(help="Round to run; a new one is opened where absent.")] = None,
    count: Annotated[
        int, typer.Option("--count", min=1, help="How many new rounds, one after the other.")
    ] = 1,
    only: Annotated[
        str, typer.Option("--only", help="Part of the round: all, skills, training or adopt.")
    ] = "all",
    request: Request = "",
    seed: Seed = 0,
    set_: Set = None,
    include_open: Open = False,
    allow_empty: Empty = False,
    anyway: Anyway = False,
    operator: OperatorOption = "direct",
    budget: Spending = None,
) -> None:
    """Run a round to its end, or several new ones in a row, and show what they did."""
    ask = RoundRequest(request, seed, overrides(set_ or ()), include_open, allow_empty, anyway=anyway)
    root = project_root()
    settings = settings_of(root)
    follower = chosen_operator(operator, budget or (), settings)
    _refuse_contradictions(key, count, only, ask, operator)
    for _ in range(count):
        asks = only in ("all", "skills")
        if key:
            manifest = RoundStore(settings.rounds).load(key)
            if asks:
                require_services(settings, key)
        else:
            manifest = _open(settings, ask, follower, asks=asks)
        screen().print(f"{manifest.key} is being run.")
        code = _launched(root, settings, manifest.key, JOBS[only])
        if code:
            Console(stderr=True, soft_wrap=True).print(
                f"{manifest.key} did not finish. What it did is kept; go on with: "
                f"agent-evo rounds run {manifest.key}"
            )
            raise typer.Exit(code)
        print_round(settings, manifest.key)


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False) -> None:
    """List the rounds, by number."""
    settings = settings_of(project_root())
    states = [(one, state_of(settings, one.key)) for one in RoundStore(settings.rounds).all()]
    if as_json:
        print(json.dumps([_as_json(*both) for both in states]))
        return
    if not states:
        screen().print("No round is open yet. Open one: agent-evo rounds open")
        return
    names = ("round", "opened", "sessions", "starts from", "seed", "status")
    show_rows(screen(), names, [_row(one, state.word) for one, state in states])
    for one, state in states:
        if state.reason:
            print_failure(Console(soft_wrap=True), one.key, state, characters=_OF_A_FAILURE)


@app.command()
def show(key: Annotated[str, typer.Argument(help="Round to show.")]) -> None:
    """Show one round: input, training, decisions, and where its files are."""
    print_round(settings_of(project_root()), key)


def overrides(pairs: Sequence[str]) -> dict[str, float | int | str]:
    """Training settings given as NAME=VALUE.

    Raises:
        SettingsError: no such setting, or no value.
    """
    values: dict[str, float | int | str] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if name not in TrainingConfig.model_fields:
            known = ", ".join(TrainingConfig.model_fields)
            raise SettingsError(f"--set {pair!r} was asked for; give NAME=VALUE with one of: {known}.")
        if (not text and TrainingConfig.model_fields[name].annotation is not str) or pair == name:
            raise SettingsError(
                f"--set {pair!r} was asked for without a value. Give one: --set {name}=VALUE. "
                f"{TrainingConfig.model_fields[name].description}"
            )
        values[name] = _number(text)
    return values


def _launched(root: Path, settings: Settings, key: str, job: str) -> int:
    """Run a job on the round; its exit code, or 130 where Ctrl-C ended it."""
    try:
        return launch(root, settings, key, job)
    except KeyboardInterrupt:
        Console(stderr=True, soft_wrap=True).print(
            f"{key} was interrupted; go on with: agent-evo rounds run {key}"
        )
        raise typer.Exit(INTERRUPTED) from None


def _refuse_contradictions(
    key: str | None, count: int, only: str, ask: RoundRequest, operator: OperatorName
) -> None:
    """What was asked for must be about a new round, or about one that is open."""
    if only not in JOBS:
        raise SettingsError(f"--only {only!r} was asked for; the parts of a round are {', '.join(JOBS)}.")
    if key and (count > 1 or ask != RoundRequest() or operator != "direct"):
        raise RoundError(
            f"{key} and options of a new round were asked for. The input of {key} is frozen: leave out "
            "--count, --request, --seed, --set, --include-open-sessions, --allow-empty, --anyway and "
            "--operator, or the key."
        )
    if key is None and only in ("skills", "adopt"):
        raise RoundError(
            f"--only {only} was asked for without a round. It goes on from what a round has made: "
            f"name one, as in agent-evo rounds run round-0001 --only {only}"
        )


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _open(settings: Settings, ask: RoundRequest, operator: Operator, *, asks: bool = True) -> RoundManifest:
    """The next round, frozen; `asks` tells whether it is to go on to what asks services."""
    root = project_root()
    # Looked at first, so that nothing is frozen, and no agent paid, for a round that cannot come to its end.
    bank = SkillBank.open(bank_of(settings, root))
    found = asked_config(bank, ask.request, ask.overrides, seed=ask.seed)
    worded = isinstance(operator, Direct)  # an agent reads the request itself, in any words
    if worded and not ask.anyway:
        require_understood(found, ask.request)
    if asks:
        require_services(settings)
    run = operated(operator, settings, root / "skill_bank", ask)
    manifest = open_round(settings, root / "skill_bank", replace(ask, operated=run))
    for remark in _remarks(manifest, found, worded=worded):
        screen().print(plain(f"{manifest.key}: {remark}"))
    if manifest.passed_over:
        told = f"{origin_told(manifest)} {to_go_on(manifest)}"
        Console(soft_wrap=True).print(told, markup=False, highlight=False)
    return manifest


def _remarks(manifest: RoundManifest, found: ResolvedConfig, *, worded: bool) -> Iterator[str]:
    """What whoever opened the round may not have meant."""
    if not manifest.slices:
        yield "no finished session is new; this round learns from its training alone."
    if found.ignored and worded:
        yield f"not understood, and without effect: {found.ignored}"
    yield from (f"{problem}; it trains with that, as asked." for problem in found.beyond)


def _row(manifest: RoundManifest, state: str) -> list[str]:
    sessions = len(sessions_of(manifest))
    parent = manifest.parent.round if manifest.parent else "base of its model"
    return [
        manifest.key,
        f"{manifest.opened_at:%Y-%m-%d %H:%M}",
        str(sessions),
        parent,
        str(manifest.seed),
        state,
    ]


def _as_json(manifest: RoundManifest, state: RoundState) -> dict[str, object]:
    """The manifest, how the round stands, and what failed in it and was not made since."""
    failures = [failure.model_dump(mode="json") for failure in state.failures]
    return {**manifest.model_dump(mode="json"), "state": state.state, "failures": failures}
