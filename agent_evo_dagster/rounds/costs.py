"""What a round took, a line for each who spent, in units that are the same on every machine. No table.

The operator's session is told as the operator's: the line of the sessions is without it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from agent_evo_dagster.analysis.views.costs import MONEY, TOKENS, CostLine
from agent_evo_dagster.analysts.types import AnalystRun
from agent_evo_dagster.capture.usage import TOKENS as TOKEN_COLUMNS
from agent_evo_dagster.rounds.beside import keep, kept
from agent_evo_dagster.rounds.status import sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest

# The frames that costs are told by.
COSTLY: Final = ("rollout_trajectories", "policy_evaluation", "patch_evaluation", "token_usage")
_JUDGES: Final = {
    "probe": "",
    "rollout": "both texts tried on tasks",
    "llm": "without the model's own test, which the asset patch_evaluation tells",
}
_RULES: Final = "rules"
_ANALYST: Final = "analyst"


class AnalystSpent(BaseModel):
    """What the answer took that the analyst drafted by, whenever it was given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    analyst: str
    model: str | None = Field(description="As it was asked for, or as the service told.")
    calls: int = Field(ge=0)
    tokens: int = Field(ge=0)
    cost_usd: FiniteFloat | None = Field(ge=0, description="Null where nobody told a price.")


def keep_analyst(store: RoundStore, key: str, run: AnalystRun) -> None:
    """Keep what the analyst of a round took, beside its manifest; made again, it is the same."""
    took = run.took
    spent = AnalystSpent(
        analyst=run.analyst,
        model=run.told or run.model,
        calls=took.calls,
        tokens=took.tokens,
        cost_usd=took.cost_usd,
    )
    keep(store, key, _ANALYST, spent)


def analyst_spent(store: RoundStore, key: str) -> AnalystSpent | None:
    """What it took; None where the round was made before that was kept.

    Raises:
        RoundError: what is kept cannot be read.
    """
    what = f"What the analyst of {key} took"
    return kept(store, key, _ANALYST, AnalystSpent, what=what, without="it counts as not told")


def costs(
    manifest: RoundManifest, frames: Mapping[str, pl.DataFrame], analyst: AnalystSpent | None
) -> tuple[CostLine, ...]:
    """The lines of a round; `frames` are those of COSTLY."""
    rollouts, scored = frames["rollout_trajectories"], frames["policy_evaluation"]
    sampled = int(rollouts["response_mask"].list.sum().sum())
    return (
        CostLine("training", {"rollout": rollouts.height, TOKENS: sampled}, "tokens sampled"),
        CostLine(
            "evaluation", {"rollout": scored.height, TOKENS: int(scored["tokens"].sum())}, "tokens sampled"
        ),
        *_judging(frames["patch_evaluation"]),
        _analyst(analyst),
        _operator(manifest, frames["token_usage"]),
        _sessions(manifest, frames["token_usage"]),
    )


def _judging(judged: pl.DataFrame) -> list[CostLine]:
    """A line for each judge that costs; the probe asks nobody, so it has no price."""
    told = [json.loads(text) for text in judged["evidence"]]
    return [
        _judge(name, note, [one["cost"] for one in told if one["judge"] == name])
        for name, note in _JUDGES.items()
    ]


def _judge(name: str, note: str, spent: Sequence[Mapping[str, Any]]) -> CostLine:
    amounts: dict[str, float | None] = {
        unit: sum(cost.get(key) or 0 for cost in spent)
        for key, unit in (("rollouts", "rollout"), ("training_steps", "optimiser step"), ("calls", "call"))
    }
    amounts[TOKENS] = sum(cost["tokens"] for cost in spent)
    if name != "probe":
        amounts[MONEY] = _together([cost.get("usd") for cost in spent if cost.get("calls") != 0])
    return CostLine(f"judge {name}", amounts, note if spent else "judged nothing")


def _together(amounts: Sequence[float | None]) -> float | None:
    """The sum; None where one of them is not told."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _analyst(spent: AnalystSpent | None) -> CostLine:
    if spent is None:
        return CostLine("analyst", {TOKENS: None, MONEY: None}, "not kept by the version that made the round")
    if not (spent.calls or spent.tokens or spent.cost_usd):
        asked = "rules, no model" if spent.analyst == _RULES else f"{spent.analyst}, nothing was asked"
        return CostLine("analyst", {"call": 0, TOKENS: 0, MONEY: 0}, asked)
    amounts = {"call": spent.calls, TOKENS: spent.tokens, MONEY: spent.cost_usd}
    return CostLine("analyst", amounts, f"{spent.analyst}, {spent.model or 'model not told'}")


def _operator(manifest: RoundManifest, usage: pl.DataFrame) -> CostLine:
    """As its client told; where that was ended before it told, its tokens are those of its session."""
    run = manifest.operated
    if run is None:
        return CostLine("operator", {TOKENS: 0, MONEY: 0}, "nobody followed the skills")
    read = usage.filter(pl.col("session_id") == run.session_id)
    tokens = run.tokens if run.tokens is not None else _tokens(read) if read.height else None
    return CostLine(
        "operator", {"turn": run.turns, TOKENS: tokens, MONEY: run.cost_usd}, f"session {run.session_id}"
    )


def _sessions(manifest: RoundManifest, usage: pl.DataFrame) -> CostLine:
    """What transcripts tell of all other sessions; hooks alone tell no tokens."""
    own = {manifest.operated.session_id} if manifest.operated else set()
    names = sessions_of(manifest) - own
    others = usage.filter(~pl.col("session_id").is_in(list(own)))
    silent = len(names - set(others["session_id"]))
    note = f"{silent} of {len(names)} have no transcript that tells" if silent else ""
    if names and silent == len(names):
        return CostLine("sessions", {TOKENS: None, MONEY: None}, note)
    amounts = {TOKENS: _tokens(others), MONEY: _together(others["cost_usd"].to_list())}
    return CostLine("sessions", amounts, note, frozenset(amounts if silent else ()))


def _tokens(usage: pl.DataFrame) -> int:
    return int(sum(usage[name].sum() for name in TOKEN_COLUMNS))
