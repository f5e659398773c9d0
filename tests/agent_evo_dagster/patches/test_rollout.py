"""Prose is judged by rollouts with both texts; what cannot be trusted never lets a patch in."""

import math

import polars as pl
import pytest

from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.evidence import Cost, GateEvidence, RolloutFacts
from agent_evo_dagster.patches.gate import to_frame
from agent_evo_dagster.patches.judges import Case
from agent_evo_dagster.patches.leaks import Known
from agent_evo_dagster.patches.policies import Auto
from agent_evo_dagster.patches.rollout import ROLLOUT_ROWS, Rollout, Trial
from agent_evo_dagster.patches.types import GateVerdict
from tests.agent_evo_dagster.patches.material import a_patch, judge_tasks, rollouts

BASE = "## Failures\n\n- Stop.\n"
PROMPT = "Find out why the nightly import of orders stopped at row 4711."


def case(body="- Read the log first.\n"):
    patch = a_patch(body).model_copy(update={"action": "append", "base_hash": section_hash(BASE)})
    return Case(patch, None, BASE)


def rows(baseline, candidate, **options):
    frame = rollouts(baseline, candidate, seeds=(0,), samples=6, **options)
    return frame.select(ROLLOUT_ROWS.names()).cast(ROLLOUT_ROWS)


def trial(frame, *, tasks=20, stopped=None, answered=(("m",),)):
    facts = RolloutFacts(
        operator="claude_code 2.1.0",
        model="m",
        tasks=tasks,
        tasks_sha256="0" * 64,
        skill_sha256=("1" * 64, "2" * 64),
        samples=6,
        stopped_early=stopped,
    )
    cost = Cost(rollouts=frame.height, tokens=100, calls=9, usd=1.25)
    return Trial(frame, facts, cost, {judge_tasks(1)[0]: Known([PROMPT])}, answered)


def judged(asked, *args, **options):
    return Rollout({asked.patch.id: trial(*args, **options)}).judge(asked)


def test_a_text_with_which_more_is_done_is_accepted_with_its_cost():
    evidence = judged(case(), rows([0.5] * 20, [0.5] * 8 + [1.0] * 12))
    assert evidence.verdict is GateVerdict.ACCEPT and evidence.measured.n == 20
    assert evidence.measured.low > 0 and (evidence.judge, evidence.split) == ("rollout", "judge")
    assert (evidence.cost.calls, evidence.cost.usd, evidence.rollout.operator) == (
        9,
        1.25,
        "claude_code 2.1.0",
    )
    assert GateEvidence.model_validate_json(evidence.as_json()) == evidence
    assert to_frame([evidence]).row(0, named=True)["judge"] == "rollout"


def test_what_it_accepts_a_person_still_reads():
    evidence = judged(case(), rows([0.5] * 20, [1.0] * 20))
    decision, reason = Auto().decide(evidence.verdict, settings_only=False, gate_reason=evidence.reason)
    assert (evidence.verdict, decision) == (GateVerdict.ACCEPT, "wait") and "a person decides" in reason


def test_a_task_that_is_lost_is_named_though_the_mean_rises():
    evidence = judged(case(), rows([1.0] + [0.5] * 19, [0.0] + [1.0] * 19))
    assert evidence.verdict is GateVerdict.REJECT and judge_tasks(1)[0] in evidence.measured.regressions


def test_no_difference_is_no_improvement():
    assert judged(case(), rows([0.5] * 20, [0.5] * 20)).verdict is GateVerdict.REJECT


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (rows([0.5] * 20, [1.0] * 20).head(200), "the candidate lacks"),
        (rows([0.5] * 20, [1.0] * 20).with_columns(reward=pl.lit(math.nan)), "missing or not finite"),
        (rows([0.5] * 20, [1.0] * 20).with_columns(reward=pl.lit(None, pl.Float64)), "missing or not finite"),
        (rows([0.5] * 20, [1.0] * 20, tasks=[f"problem-{n}" for n in range(20)]), "not of the split 'judge'"),
        (rows([0.5] * 20, [1.0] * 20).clear(), "no rollouts of the baseline and the candidate"),
    ],
)
def test_rows_with_a_hole_or_of_other_tasks_are_not_trusted(frame, said):
    evidence = judged(case(), frame)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and said in evidence.reason
    assert evidence.measured is None and evidence.cost.usd == 1.25


def test_a_budget_that_ended_keeps_what_was_paid_for_and_verifies_nothing():
    evidence = judged(case(), rows([0.5] * 20, [1.0] * 20), stopped="its 20 USD are spent")
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and "ended early: its 20 USD" in evidence.reason
    assert evidence.cost.rollouts == 240 and evidence.rollout.stopped_early == "its 20 USD are spent"


def test_a_patch_that_quotes_a_task_teaches_the_judge_alone():
    body = f"- When asked to {PROMPT.upper()}\n"
    evidence = judged(case(body), rows([0.5] * 20, [1.0] * 20))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED
    assert f"quotes 1 of the tasks, or tells their answers: {judge_tasks(1)[0]}" in evidence.reason


def test_texts_that_different_models_had_are_not_compared():
    frame = rows([0.5] * 20, [1.0] * 20)
    evidence = judged(case(), frame, answered=(("m-1",), ("helper", "m-2\u202e")))
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and evidence.measured is None
    assert "by helper with m-2<U+202E> or m-1" in evidence.reason
    for same in ((), (("helper", "m-1"),)):
        assert judged(case(), frame, answered=same).verdict is GateVerdict.ACCEPT


def test_too_few_tasks_are_no_evidence():
    evidence = judged(case(), rows([0.5] * 8, [1.0] * 8), tasks=8)
    assert evidence.verdict is GateVerdict.REJECT_UNVERIFIED and "too few" in evidence.reason


def test_it_takes_prose_that_was_tried_and_no_settings():
    asked = case()
    judge = Rollout({asked.patch.id: trial(rows([0.5] * 20, [1.0] * 20))})
    assert judge.takes(asked) and not judge.takes(Case(asked.patch, {"beta": (0.0, 0.1)}, BASE))
    assert not Rollout().takes(asked)
