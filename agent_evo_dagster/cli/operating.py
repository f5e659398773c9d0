"""The options of commands that have an operator follow the skills, and its work before a round is opened."""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from agent_evo_dagster.cli.project import project_root
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.operators.claude_code import ClaudeCode
from agent_evo_dagster.operators.direct import Direct
from agent_evo_dagster.operators.protocol import Operator
from agent_evo_dagster.operators.types import Assignment, Bounds, OperatorRun
from agent_evo_dagster.rounds.opening import RoundRequest, ensure_bank
from agent_evo_dagster.rounds.status import sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import OperatorName
from agent_evo_dagster.settings import Settings

OperatorOption = Annotated[
    OperatorName,
    typer.Option(
        "--operator",
        help="Who follows the skills before the round is opened: nobody (direct) or claude_code.",
    ),
]
Spending = Annotated[
    list[str] | None,
    typer.Option(
        "--operator-budget",
        metavar="NAME=VALUE",
        help="What claude_code may take: money (US dollars), turns, seconds.",
    ),
]
# Where the training of its own computes: paths, no keys.
_PLACES: Final = ("AGENT_EVO_TRAINER_PYTHON", "AGENT_EVO_DEPLOYMENT")


def chosen_operator(name: OperatorName, budget: Sequence[str], settings: Settings) -> Operator:
    """The operator that was asked for.

    Raises:
        SettingsError: a budget that is none, or one for nobody.
    """
    if name == "claude_code":
        return ClaudeCode(bounds_of(budget), settings.operator_model)
    if budget:
        raise SettingsError(
            f"--operator-budget {budget[0]} was asked for without an agent. Add --operator claude_code."
        )
    return Direct()


def bounds_of(budget: Sequence[str]) -> Bounds:
    """Bounds given as NAME=VALUE, the usual ones for the rest.

    Raises:
        SettingsError: not of that form, or no such bound.
    """
    values: dict[str, float] = asdict(Bounds())
    for pair in budget:
        name, _, text = pair.partition("=")
        try:
            value: float = int(text) if name == "turns" else float(text)
        except ValueError:
            value = math.nan
        if name not in values or not 0 < value < math.inf:
            raise SettingsError(
                f"--operator-budget {pair!r} was asked for; give NAME=VALUE with one of {', '.join(values)}, "
                "above 0 and finite; turns are whole."
            )
        values[name] = value
    return Bounds(turns=int(values["turns"]), seconds=values["seconds"], money=values["money"])


def operated(operator: Operator, settings: Settings, template: Path, ask: RoundRequest) -> OperatorRun | None:
    """What the operator did for the round that is opened next; null where nobody is to do anything.

    Raises:
        ClientError: it could not be run; no round is opened then.
    """
    if isinstance(operator, Direct):
        return None
    taken = {session for manifest in RoundStore(settings.rounds).all() for session in sessions_of(manifest)}
    places = {name: os.environ[name] for name in _PLACES if os.environ.get(name)}
    run = operator.operate(
        Assignment(
            request=ask.request,
            bank=ensure_bank(settings, template),
            spool=settings.spool,
            records=settings.operators,
            taken=taken,
            environment={"AGENT_EVO_PROJECT": str(project_root()), **places},
        )
    )
    if run is not None:
        Console(soft_wrap=True).print(run.line(), markup=False, highlight=False)
    return run
