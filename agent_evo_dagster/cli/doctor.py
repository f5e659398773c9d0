"""`agent-evo doctor`: what is missing or at risk on this machine, each with the command that mends it."""

import importlib.util
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console

from agent_evo_dagster.capture.capturing import capturers
from agent_evo_dagster.capture.copies import DELETED_AFTER, WARN_AFTER, uncopied
from agent_evo_dagster.cli.hooks import client_folder
from agent_evo_dagster.cli.project import bank_of, project_root, settings_of
from agent_evo_dagster.errors import AgentEvoError, DecisionError
from agent_evo_dagster.evaluation.regressions import rollouts_needed
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.pairing import MIN_TASKS
from agent_evo_dagster.rollouts.tasks import of_the_judge, read_tasks
from agent_evo_dagster.rounds.adoption import require_whole_record
from agent_evo_dagster.rounds.services import services
from agent_evo_dagster.rounds.state import state_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.packages.check import check_packages

EXTRAS = {"dagster": "dagster", "torch": "hf", "transformers": "hf", "trl": "hf", "matplotlib": "plots"}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at."""

    well: bool
    what: str
    word: Literal["note"] | None = None  # said in the place of ok, of what is neither well nor to be mended


def doctor() -> None:
    """Look at the installation, the spool, the bank and the rounds; exit 1 where something needs mending."""
    root = project_root()
    diagnoses = list(examine(root, settings_of(root)))
    console = Console(soft_wrap=True)
    for item in diagnoses:
        console.print(
            f"{item.word or ('ok  ' if item.well else 'MEND')}  {item.what}", markup=False, highlight=False
        )
    if not all(item.well for item in diagnoses):
        raise typer.Exit(1)


def examine(root: Path, settings: Settings) -> Iterator[Diagnosis]:
    """Everything that a round needs, one by one."""
    yield Diagnosis(True, f"checkout {root}")
    yield Diagnosis(True, f"home {settings.root}")
    for module, extra in EXTRAS.items():
        found = importlib.util.find_spec(module) is not None
        mend = "" if found else f" is missing: pip install 'agent-evo-dagster[{extra}]'"
        yield Diagnosis(found, f"package {module}{mend}")
    yield _spool(settings)
    yield _transcripts(settings)
    yield _hooks()
    yield from _named_bank(settings)
    path = bank_of(settings, root)
    yield _bank(path)
    yield from _decisions(path)
    yield from _packages(path)
    yield from (Diagnosis(one.missing is None, one.line) for one in services(settings))
    yield from _tasks(settings)
    yield from _rounds(settings)


def _packages(bank: Path) -> Iterator[Diagnosis]:
    """Whether the packages of the bank are as they were frozen; nothing where there are none."""
    found = check_packages(bank)
    yield from (Diagnosis(False, problem) for problem in found.problems)
    yield from (Diagnosis(True, warning) for warning in found.warnings)
    if found.packages and not found.problems:
        yield Diagnosis(True, f"{found.packages} packages are as they were frozen")


def _tasks(settings: Settings) -> Iterator[Diagnosis]:
    """Whether skills have tasks enough, where their prose is to be tried."""
    if "rollout" not in settings.judges:
        return
    for folder in sorted(settings.tasks.glob("*/")):
        try:
            number = len(of_the_judge(read_tasks(settings.tasks, folder.name)))
        except AgentEvoError as error:
            yield Diagnosis(False, f"tasks: {error}")
            continue
        more = (
            "" if number >= MIN_TASKS else f"; {MIN_TASKS} are needed: agent-evo skills tasks {folder.name}"
        )
        more = more or _samples(settings, number)
        yield Diagnosis(not more, f"tasks for {folder.name}: {number} of the split judge{more}")


def _samples(settings: Settings, tasks: int) -> str:
    """What is wrong with the number of rollouts that is asked for, where `tasks` are tried."""
    needed, asked = rollouts_needed(tasks), settings.rollout_samples
    if asked is None or asked >= needed:
        return ""
    return f"; of each {needed} rollouts are needed, and AGENT_EVO_ROLLOUT_SAMPLES={asked}: unset or raise it"


def _spool(settings: Settings) -> Diagnosis:
    files = sum(1 for path in settings.spool.rglob("*.jsonl"))
    if files:
        return Diagnosis(True, f"spool {settings.spool}: {files} files")
    return Diagnosis(
        False,
        f"spool {settings.spool} is empty: agent-evo hooks install --project DIR, or agent-evo import PATH",
    )


def _transcripts(settings: Settings) -> Diagnosis:
    """Transcripts that the client is about to delete."""
    left = uncopied(settings.spool, datetime.now(UTC))
    if not left:
        return Diagnosis(True, "transcripts: none is about to be deleted without a copy in the spool")
    return Diagnosis(
        False,
        f"{len(left)} transcripts are older than {WARN_AFTER.days} days and not in the spool; the client "
        f"deletes them after {DELETED_AFTER.days}: agent-evo import {left[0].parent}",
    )


def _hooks() -> Diagnosis:
    """What captures the sessions of the folder that the command runs in."""
    try:
        found = capturers(client_folder(), Path.cwd() / ".claude")
    except AgentEvoError as error:
        return Diagnosis(False, f"hooks: {error}")
    if len(found) > 1:
        told = (
            f"hooks: each event here is captured {len(found)} times, by {', '.join(found)}. Keep one of them"
        )
        return Diagnosis(False, told)
    if not found:
        told = "hooks: nothing captures the sessions of this folder. To capture them: "
        return Diagnosis(True, f"{told}agent-evo hooks install --project .", "note")
    return Diagnosis(True, f"hooks: {found[0]} captures the sessions of this folder")


def _rounds(settings: Settings) -> Iterator[Diagnosis]:
    """How many rounds there are, and which of them failed or were interrupted."""
    keys = RoundStore(settings.rounds).keys()
    yield Diagnosis(True, f"{len(keys)} rounds{f', the last is {keys[-1]}' if keys else ''}")
    for key in keys:
        state = state_of(settings, key)
        if state.state == "failed":
            yield Diagnosis(True, f"{key} {state.word}; go on with: agent-evo rounds run {key}", "note")


def _named_bank(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the bank that a setting names is there: a round would make one of the shipped skills there."""
    path = settings.bank_path
    if settings.bank is not None and not path.exists():
        yield Diagnosis(
            False,
            f"AGENT_EVO_BANK names {path}, where nothing is; a round would make a bank of the shipped skills "
            f"there. Correct it, unset it, or make one: agent-evo init {shlex.quote(str(path))}",
        )


def _bank(path: Path) -> Diagnosis:
    try:
        skills = compile_all(SkillBank.open(path))
    except AgentEvoError as error:
        return Diagnosis(False, f"skill bank {path}: {error}")
    return Diagnosis(True, f"skill bank {path}: {len(skills)} skills compile")


def _decisions(path: Path) -> Iterator[Diagnosis]:
    ledger = ledger_of(path)
    try:
        require_whole_record(SkillBank.open(path), ledger)
        yield Diagnosis(True, f"decisions {ledger.path}: {len(ledger.verdicts())} on record")
    except DecisionError as error:
        yield Diagnosis(False, f"decisions: {error}")
    except AgentEvoError:
        return  # the bank's own line tells it
