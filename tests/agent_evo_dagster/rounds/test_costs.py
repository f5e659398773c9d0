"""What a round took, told in units that are the same on every machine."""

import json

import polars as pl
import pytest

from agent_evo_dagster.analysts.types import AnalystRun, Usage
from agent_evo_dagster.capture.types import USAGE_SCHEMA
from agent_evo_dagster.capture.usage import TOKENS
from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.operators.types import OperatorRun
from agent_evo_dagster.rounds.costs import AnalystSpent, analyst_spent, costs, keep_analyst
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.rounds.types import RoundManifest, SliceRecord
from tests.agent_evo_dagster.analysis.builders import START, evaluation_frame, rollout_frame

RAN = OperatorRun(
    session_id="s", client="2", models=("m",), outcome="success", exit_code=0, turns=3, cost_usd=0.5,
    tokens=900, seconds=7.0,
)  # fmt: skip


RULES = AnalystSpent(analyst="rules", model=None, calls=0, tokens=0, cost_usd=None)


def manifest(operated: OperatorRun | None = None, sessions: tuple[str, ...] = ("s", "t")) -> RoundManifest:
    opened = {"key": "round-0001", "number": 1, "opened_at": START, "seed": 0, "request": "", "overrides": {}}
    taken = SliceRecord(file="f", start=0, end=1, sha256="0" * 64, sessions=sessions)
    frozen = {"include_open_sessions": False, "slices": (taken,), "bank_hash": "0" * 64, "parent": None}
    return RoundManifest(policy="auto", operated=operated, **opened, **frozen)


def frames(*spent: dict[str, object], usage: pl.DataFrame | None = None) -> dict[str, pl.DataFrame]:
    judged = [
        json.dumps(
            {
                "judge": cost.pop("judge", "probe"),
                "cost": {"rollouts": 0, "tokens": 0, "training_steps": None, **cost},
            }
        )
        for cost in map(dict, spent)
    ]
    return {
        "rollout_trajectories": rollout_frame([[0.0, 1.0]], length=20),
        "policy_evaluation": evaluation_frame({"before": [True], "after": [True]}),
        "patch_evaluation": pl.DataFrame({"evidence": judged}, schema={"evidence": pl.String}),
        "token_usage": pl.DataFrame(schema=USAGE_SCHEMA) if usage is None else usage,
    }


def used(**cost_usd: float | None) -> pl.DataFrame:
    """A message of each session named, 4321 tokens long."""
    counts = dict(zip(TOKENS, (1, 20, 300, 4000), strict=True))
    rows = [
        {"session_id": name, "message_id": name, "at": START, "tool_use_ids": [], "cost_usd": cost, **counts}
        for name, cost in cost_usd.items()
    ]
    return pl.DataFrame(rows, schema=USAGE_SCHEMA)


def told(*spent: dict[str, object], of: RoundManifest | None = None, **given: object) -> dict[str, object]:
    """What each line says, by who spent it."""
    lines = costs(of or manifest(), frames(*spent, usage=given.get("usage")), given.get("analyst", RULES))
    assert len({line.what for line in lines}) == len(lines)
    return {line.what: dict(line.amounts) for line in lines}


def test_training_evaluation_and_each_judge_have_a_line_and_own_machines_no_price():
    found = told(
        {"rollouts": 1600, "tokens": 50, "training_steps": 24},
        {"rollouts": 10},
        {"judge": "rollout", "rollouts": 8, "tokens": 70, "calls": 8, "usd": 0.5},
        {"judge": "llm", "tokens": 90, "calls": 6},
    )
    assert found["training"] == {"rollout": 2, "tokens": 40}
    assert found["evaluation"].keys() == {"rollout", "tokens"}
    nothing = {"rollout": 0, "optimiser step": 0}
    assert found["judge probe"] == {"rollout": 1610, "optimiser step": 24, "call": 0, "tokens": 50}
    assert found["judge rollout"] == {**nothing, "rollout": 8, "call": 8, "tokens": 70, "US dollars": 0.5}
    assert found["judge llm"] == {**nothing, "call": 6, "tokens": 90, "US dollars": None}


def test_what_asked_nobody_has_no_price_to_tell():
    asked = {"judge": "llm", "tokens": 90, "calls": 6, "usd": 0.5}
    assert told(asked, {"judge": "llm", "calls": 0})["judge llm"]["US dollars"] == 0.5
    assert told(asked, {"judge": "llm", "calls": 1})["judge llm"]["US dollars"] is None


def test_a_judge_that_judged_nothing_took_nothing():
    assert not any(told()["judge llm"].values())


def test_the_analyst_has_a_line_with_its_tokens_and_its_price_where_one_is_told():
    model = AnalystSpent(analyst="anthropic", model="m", calls=2, tokens=700, cost_usd=0.01)
    assert told(analyst=model)["analyst"] == {"call": 2, "tokens": 700, "US dollars": 0.01}
    assert told()["analyst"] == {"call": 0, "tokens": 0, "US dollars": 0}
    for took in ({"tokens": 5}, {"cost_usd": 0.5}):
        odd = model.model_copy(update={"calls": 0, "tokens": 0, "cost_usd": 0.0, **took})
        assert told(analyst=odd)["analyst"] == {"call": 0, "tokens": odd.tokens, "US dollars": odd.cost_usd}
    assert told(analyst=None)["analyst"] == {"tokens": None, "US dollars": None}


def test_what_the_analyst_took_is_kept_as_it_was_when_the_answer_was_given(tmp_path):
    store, took = RoundStore(tmp_path), Usage(2, 700, None, 3.5)
    run = AnalystRun("openai", "asked", told="answered", usage=Usage(), took=took, recorded=True)
    keep_analyst(store, "round-0001", run)
    kept = analyst_spent(store, "round-0001")
    assert kept == AnalystSpent(analyst="openai", model="answered", calls=2, tokens=700, cost_usd=None)
    assert analyst_spent(store, "round-0002") is None
    (tmp_path / "round-0001" / "analyst.json").write_text("{")
    with pytest.raises(RoundError, match="Delete it, and it counts as not told"):
        analyst_spent(store, "round-0001")


def test_the_operators_session_is_in_the_line_of_the_operator_alone():
    found = told(of=manifest(RAN), usage=used(s=9.0, t=0.125))
    assert found["operator"] == {"turn": 3, "tokens": 900, "US dollars": 0.5}
    assert found["sessions"] == {"tokens": 4321, "US dollars": 0.125}
    assert told(usage=used(s=9.0, t=0.125))["sessions"] == {"tokens": 8642, "US dollars": 9.125}


def test_an_operator_that_was_ended_before_it_told_took_the_tokens_of_its_session():
    ended = manifest(RAN.model_copy(update={"tokens": None, "cost_usd": None}))
    assert told(of=ended, usage=used(s=None))["operator"]["tokens"] == 4321
    assert told(of=ended)["operator"] == {"turn": 3, "tokens": None, "US dollars": None}


@pytest.mark.parametrize(
    ("usage", "amounts"),
    [
        (used(), {"tokens": None, "US dollars": None}),
        (used(s=0.125), {"tokens": 4321, "US dollars": 0.125}),
        (used(s=0.125, t=None), {"tokens": 8642, "US dollars": None}),
    ],
)
def test_what_no_transcript_and_no_price_tells_of_sessions_is_not_told(usage, amounts):
    assert told(usage=usage)["sessions"] == amounts


def test_a_round_without_sessions_spent_nothing_on_them():
    assert told(of=manifest(sessions=()))["sessions"] == {"tokens": 0, "US dollars": 0}


@pytest.mark.parametrize(
    ("operated", "usage", "note", "in_part"),
    [
        (None, used(s=0.125), "1 of 2 have no transcript that tells", {"tokens", "US dollars"}),
        (None, used(s=0.125, t=1.0), "", set()),
        (RAN, used(t=1.0), "", set()),  # the operator's own session is none of these
        (RAN, used(s=0.125), "1 of 1 have no transcript that tells", set()),
    ],
)
def test_sessions_without_a_transcript_are_counted_and_the_sum_is_of_a_part(operated, usage, note, in_part):
    line = costs(manifest(operated), frames(usage=usage), RULES)[-1]
    assert (line.note, line.in_part) == (note, in_part)
