import pytest

from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.training.engines import LocalEngine
from agent_evo_dagster.training.evaluate import evaluate
from agent_evo_dagster.training.request import EvaluationSpec
from agent_evo_dagster.training.types import EVALUATION_SCHEMA

SPEC = EvaluationSpec(split="dev", tasks=10, samples=3, greedy=True, seed=4)


def run(policy, environment, spec=SPEC, name="before"):
    return evaluate(
        LocalEngine(policy.model, policy.tokenizer), environment, spec, name=name, seed=9, tick=lambda: None
    )


def test_every_task_is_sampled_and_once_greedy(policy, environment):
    frame = run(policy, environment)
    assert frame.schema == EVALUATION_SCHEMA
    assert frame.filter(mode="sampled")["sample"].to_list() == [0, 1, 2] * 10
    assert frame.filter(mode="greedy")["sample"].to_list() == [0] * 10
    assert set(frame["policy"]) == {"before"}
    assert set(frame["seed"]) == {9}
    assert {split_of(task) for task in frame["task_id"]} == {"dev"}


def test_greedy_rollouts_are_left_out_where_not_asked_for(policy, environment):
    frame = run(policy, environment, SPEC.model_copy(update={"greedy": False}))
    assert set(frame["mode"]) == {"sampled"}


def test_two_policies_meet_the_same_tasks_and_the_same_luck(policy, environment):
    one = run(policy, environment, name="baseline")
    two = run(policy, environment, name="candidate")
    assert one.drop("policy").equals(two.drop("policy"))


def test_samples_of_a_task_differ(policy, environment):
    frame = run(policy, environment).filter(mode="sampled")
    assert frame.group_by("task_id").n_unique()["reward"].max() > 1


def test_the_shipped_policy_is_weak_but_not_hopeless(policy, environment):
    spec = EvaluationSpec(split="dev", tasks=100, samples=2, greedy=True, seed=0)
    frame = run(policy, environment, spec)
    accuracy = {mode: frame.filter(mode=mode)["correct"].mean() for mode in ("sampled", "greedy")}
    assert accuracy["sampled"] == pytest.approx(0.22, abs=0.07)
    assert accuracy["greedy"] == pytest.approx(0.45, abs=0.15)
