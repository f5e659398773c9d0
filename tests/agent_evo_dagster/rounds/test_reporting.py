"""What a round took, told in units that are the same on every machine."""

import json

import polars as pl
import pytest

from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.capture.usage import TOKENS
from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.rounds.reporting import costs
from agent_evo_dagster.rounds.types import RoundManifest
from tests.agent_evo_dagster.analysis.builders import START, evaluation_frame, rollout_frame

RAN = OperatorRun(
    session_id="s", client="2", models=("m",), outcome="success", exit_code=0, turns=3, cost_usd=0.5,
    tokens=900, seconds=7.0,
)  # fmt: skip


def manifest(operated: OperatorRun | None = None) -> RoundManifest:
    opened = {"key": "round-0001", "number": 1, "opened_at": START, "seed": 0, "request": "", "overrides": {}}
    frozen = {"include_open_sessions": False, "slices": (), "bank_hash": "0" * 64, "parent": None}
    return RoundManifest(policy="auto", operated=operated, **opened, **frozen)


def frames(*spent: dict[str, object], usage: pl.DataFrame | None = None) -> dict[str, pl.DataFrame]:
    judged = [
        json.dumps({"cost": {"rollouts": 0, "tokens": 0, "training_steps": None, **cost}}) for cost in spent
    ]
    return {
        "rollout_trajectories": rollout_frame([[0.0, 1.0]], length=20),
        "policy_evaluation": evaluation_frame({"before": [True], "after": [True]}),
        "patch_evaluation": pl.DataFrame({"evidence": judged}, schema={"evidence": pl.String}),
        "token_usage": pl.DataFrame(schema=USAGE_SCHEMA) if usage is None else usage,
    }


def used(cost_usd: float | None) -> pl.DataFrame:
    counts = dict(zip(TOKENS, (1, 20, 300, 4000), strict=True))
    row = {"session_id": "s", "message_id": "m", "at": START, "tool_use_ids": [], "cost_usd": cost_usd}
    row |= counts
    return pl.DataFrame([row], schema=USAGE_SCHEMA)


def test_training_evaluation_and_gate_are_counted_and_what_nobody_asked_for_is_left_out():
    probe = {"rollouts": 1600, "tokens": 50, "training_steps": 24}
    assert costs(manifest(), frames(probe, {"rollouts": 10})) == {
        "training rollouts": 2,
        "training tokens sampled": 40,
        "evaluation rollouts": 2,
        "gate rollouts": 1610,
        "gate optimiser steps": 24,
        "gate tokens": 50,
    }


def test_what_models_were_asked_is_told_with_its_price():
    told = costs(manifest(), frames({"calls": 6, "usd": 0.25}, {"calls": None, "usd": None}))
    assert told["gate questions to models, starts of operators"] == 6
    assert told["gate US dollars"] == 0.25


@pytest.mark.parametrize(("price", "told"), [(0.125, 0.125), (None, None)])
def test_sessions_are_told_in_tokens_and_in_money_where_there_are_prices(price, told):
    found = costs(manifest(), frames(usage=used(price)))
    assert found["session tokens"] == 4321
    assert found.get("session US dollars") == told


def test_the_agent_that_followed_the_skills_is_counted():
    found = costs(manifest(RAN), frames())
    assert (found["operator tokens"], found["operator US dollars"]) == (900, 0.5)
    assert "operator tokens" not in costs(manifest(RAN.model_copy(update={"tokens": None})), frames())
