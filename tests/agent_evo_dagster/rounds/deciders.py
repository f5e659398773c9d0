"""People who decide at once, each in a process of its own, in each way that there is."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.context import SpawnContext
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.approvals import DecisionRequest
from agent_evo_dagster.patches.decisions import decide, ledger_of
from agent_evo_dagster.rounds.deciding import desk_of
from agent_evo_dagster.settings import read_settings
from agent_evo_dagster.warehouse import Warehouse

PATIENCE = 60  # seconds


@dataclass(frozen=True)
class Turn:
    """What one decides, and how."""

    way: str
    word: str
    patch: str
    name: str
    policy: str = "auto"


def _invoked(*words: str) -> str:
    result = CliRunner().invoke(app, ["patches", *words])
    if isinstance(result.exception, DecisionError):
        return str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stderr


def command(turn: Turn) -> str:
    """At the command line."""
    return _invoked(turn.word, turn.patch, "--by", turn.name, "--reason", "mine")


def file(turn: Turn) -> str:
    """By a file in the bank, and the command that carries it out; others' files are their business."""
    folder = read_settings().bank_path / "approvals"
    folder.mkdir(exist_ok=True)
    text = f"by: {turn.name}\nreason: mine\n{turn.word}: [{turn.patch}]\n"
    (folder / f"{turn.name}.yaml").write_text(text)
    told = _invoked("sync")
    return "\n".join(line for line in told.splitlines() if line.startswith(f"{turn.name}.yaml"))


def launchpad(turn: Turn) -> str:
    """As the asset of decisions does it with its run configuration."""
    request = DecisionRequest.model_validate({"by": turn.name, "reason": "mine", turn.word: [turn.patch]})
    try:
        desk_of(read_settings()).carry_out(request, datetime.now(UTC))
    except DecisionError as error:
        return str(error)
    return policy(turn)


def policy(turn: Turn) -> str:
    """As the asset of decisions asks the policy."""
    settings = read_settings()
    store = Warehouse(settings.warehouse)
    (key, *_) = store.rounds(["skill_patches"])
    frames = (store.read([asset], key) for asset in ("skill_patches", "patch_evaluation"))
    ledger = ledger_of(settings.bank_path)
    found = decide(settings.policy, *frames, ledger, datetime.now(UTC)).row(0, named=True)
    return "" if found["decision"] == turn.word else f"{found['by']} decided {found['decision']!r}"


WAYS = {"command": command, "file": file, "launchpad": launchpad, "policy": policy}


def _serve(
    home: str, turns: "Queue[Turn | None]", answers: "Queue[tuple[Turn, str]]", ready: Barrier
) -> None:
    os.environ["AGENT_EVO_HOME"] = home
    while (turn := turns.get(timeout=PATIENCE)) is not None:
        os.environ["AGENT_EVO_POLICY"] = turn.policy
        ready.wait(PATIENCE)
        answers.put((turn, WAYS[turn.way](turn)))


class Deciders:
    """Processes that begin their turns at the same instant."""

    def __init__(self, context: SpawnContext, home: Path, number: int, serve: Any = _serve) -> None:
        self.ready, self.answers = context.Barrier(number), context.Queue()
        self.queues = [context.Queue() for _ in range(number)]
        self.processes = [
            context.Process(target=serve, args=(str(home), queue, self.answers, self.ready))
            for queue in self.queues
        ]
        for process in self.processes:
            process.start()

    def __call__(self, *turns: Turn) -> dict[Turn, str]:
        """What each was told; nothing where it was done."""
        for queue, turn in zip(self.queues, turns, strict=True):
            queue.put(turn)
        return dict(self.answers.get(timeout=PATIENCE) for _ in turns)

    def end(self) -> list[int | None]:
        """Let all go home; returns their exit codes."""
        for queue in self.queues:
            queue.put(None)
        for process in self.processes:
            process.join(PATIENCE)
        return [process.exitcode for process in self.processes]


@contextmanager
def deciders(home: Path, number: int = 2, serve: Any = _serve) -> Iterator[Deciders]:
    """Processes on one home; none is left behind."""
    people = Deciders(multiprocessing.get_context("spawn"), home, number, serve)
    try:
        yield people
        assert people.end() == [0] * number
    finally:
        for process in people.processes:
            process.kill()


def fresh(home: Path) -> None:
    """The home with nothing decided."""
    bank = home / "skill_bank"
    (bank / "decisions.jsonl").unlink(missing_ok=True)
    for path in (bank / "approvals").glob("*.yaml"):
        path.unlink()


def check_one_decision(home: Path, answers: dict[Turn, str]) -> None:
    """One decision is on record, its chain whole; who said otherwise was told, and nobody else."""
    ledger = ledger_of(home / "skill_bank")
    (record,) = ledger.records()
    assert ledger.torn() == b""
    said = [turn.name for turn in answers if turn.word == record.decision]
    assert record.by in said or record.by.startswith("policy:")
    for turn, told in answers.items():
        if turn.word == record.decision:
            assert told == "", (turn, told)
        else:
            assert f"{record.by} decided {record.decision!r}" in told, (turn, told)
