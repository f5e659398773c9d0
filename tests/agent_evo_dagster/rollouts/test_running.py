"""Pairs of rollouts: mixed, kept, within the budget, and never with a hole that nobody sees."""

import json
import math

import pytest

from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.patches.rollout import ROLLOUT_ROWS
from agent_evo_dagster.rollouts.running import Runner, order
from agent_evo_dagster.rollouts.types import Budget
from tests.agent_evo_dagster.rollouts.material import ENOUGH, Scripted, attempt, sides, tasks


def runner(reader, folder=None, budget=ENOUGH, samples=2, scope="round-0001"):
    return Runner(reader, budget, samples, scope, folder)


def test_every_task_is_done_with_both_texts_as_often_and_the_sides_are_mixed():
    reader = Scripted()
    trial = runner(reader).trial(sides(), tasks(4))
    assert trial.rows.schema == ROLLOUT_ROWS and trial.rows.height == 16
    counts = trial.rows.group_by("policy", "task_id").len()["len"].to_list()
    assert counts == [2] * 8
    assert trial.rows.filter(trial.rows["correct"])["policy"].unique().to_list() == ["candidate"]
    firsts = [reader.given[place][1] for place in range(0, 16, 2)]
    assert set(firsts) == {"old", "new"}
    assert list(order(tasks(4), 2)) == list(order(tasks(4), 2))


def test_the_cost_counts_every_attempt_and_names_who_answered():
    trial = runner(Scripted()).trial(sides(), tasks(3))
    assert (trial.cost.rollouts, trial.cost.calls, trial.cost.tokens, trial.cost.usd) == (12, 12, 60, 0.12)
    assert (trial.facts.operator, trial.facts.model) == ("scripted 1", "m")
    assert trial.facts.stopped_early is None and len(set(trial.facts.skill_sha256)) == 2


def test_what_is_on_record_is_not_run_again_and_counts_all_the_same(tmp_path):
    first = runner(Scripted(), tmp_path).trial(sides(), tasks(3))
    again = runner(Scripted(lambda *_: attempt(False)), tmp_path)
    trial = again.trial(sides(), tasks(3))
    assert trial.rows.equals(first.rows) and (trial.facts, trial.cost) == (first.facts, first.cost)
    assert (again.anew.attempts, again.spent.attempts) == (0, 12)


def test_another_round_another_text_or_another_task_is_tried_anew(tmp_path):
    runner(Scripted(), tmp_path).trial(sides(), tasks(2))
    for changed in ({"scope": "round-0002"}, {}):
        reader = Scripted()
        texts = sides() if changed else sides(after="newer")
        runner(reader, tmp_path, **changed).trial(texts, tasks(2))
        assert len(reader.given) == (8 if changed else 4)
    reader = Scripted()
    runner(reader, tmp_path).trial(sides(), [tasks(1)[0].model_copy(update={"prompt": "Is it?"})])
    assert len(reader.given) == 4


@pytest.mark.parametrize("change", [{"asked": "another"}, {"engine": "scripted 2"}])
def test_another_model_or_another_version_is_tried_anew(tmp_path, change):
    runner(Scripted(asked="one"), tmp_path).trial(sides(), tasks(2))
    reader = Scripted(**{"asked": "one", **change})
    runner(reader, tmp_path).trial(sides(), tasks(2))
    assert len(reader.given) == 8


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": -1},
        {"tokens": 10**30},
        {"tokens": True},
        {"calls": -1},
        {"calls": 10**30},
        {"cost_usd": -0.01},
        {"cost_usd": 1e300},
        {"cost_usd": math.nan},
        {"most_usd": math.inf},
        {"seconds": -1.0},
        {"seconds": 1e300},
        {"done": "yes"},
    ],
)
def test_a_record_of_what_cannot_be_is_none(tmp_path, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        attempt(**change)
    runner(Scripted(), tmp_path).trial(sides(), tasks(1))
    for path in tmp_path.iterdir():
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(TaskError, match="Delete it to run it again"):
        runner(Scripted(), tmp_path).trial(sides(), tasks(1))


def test_a_killed_trial_goes_on_where_it_was(tmp_path):
    class Killed(BaseException):
        pass

    def dies(task, text):
        if len(reader.given) == 6:
            raise Killed
        return attempt("new" in text)

    reader = Scripted(dies)
    with pytest.raises(Killed):
        runner(reader, tmp_path).trial(sides(), tasks(3))
    reader = Scripted()
    trial = runner(reader, tmp_path).trial(sides(), tasks(3))
    assert len(reader.given) == 7 and trial.rows.height == 12


def test_a_rollout_that_is_lost_is_tried_once_more():
    def once(task, text):
        return attempt(None, finish="infra_error", why="busy") if len(reader.given) == 3 else attempt()

    reader = Scripted(once)
    trial = runner(reader).trial(sides(), tasks(2))
    assert trial.rows["correct"].null_count() == 0 and trial.facts.stopped_early is None
    assert trial.cost.rollouts == 9  # what was lost was paid for, too


def test_a_rollout_that_is_lost_again_ends_the_trial_and_is_no_zero(tmp_path):
    def lost(task, text):
        return (
            attempt(None, finish="infra_error", why="Not logged in") if len(reader.given) > 2 else attempt()
        )

    reader = Scripted(lost)
    trial = runner(reader, tmp_path).trial(sides(), tasks(2))
    assert len(reader.given) == 4 and trial.rows["reward"].to_list() == [1.0, 1.0, None]
    assert trial.facts.stopped_early == "Not logged in (2 of 8 rollouts were run)"
    healed = Scripted()
    assert runner(healed, tmp_path).trial(sides(), tasks(2)).rows.height == 8 and len(healed.given) == 6


def test_a_budget_that_ends_keeps_what_was_paid_for():
    for budget, named in (
        (Budget(1000.0, 10_000, 0.03), "0.03 USD"),
        (Budget(1000.0, 15, None), "15 tokens"),
        (Budget(3.0, 10_000, None), "3 seconds"),
    ):
        trial = runner(Scripted(), budget=budget).trial(sides(), tasks(2))
        assert trial.rows.height == 3 and named in trial.facts.stopped_early
        assert "(3 of 8 rollouts were run)" in trial.facts.stopped_early


def test_what_nobody_told_the_price_of_counts_as_the_most_it_may_have_cost():
    reader = Scripted(lambda *_: attempt(cost_usd=None, most_usd=0.5))
    trial = runner(reader, budget=Budget(1000.0, 10_000, 1.0)).trial(sides(), tasks(2))
    assert trial.rows.height == 2 and trial.cost.usd == 1.0


def test_an_end_by_the_budget_is_on_record_until_the_budget_is_another(tmp_path):
    def cut(task, text):
        over = len(reader.given) == 2
        return attempt(None, finish="infra_error", ended=True, why="cut") if over else attempt()

    reader = Scripted(cut)
    first = runner(reader, tmp_path).trial(sides(), tasks(2))
    reader = Scripted()
    assert runner(reader, tmp_path).trial(sides(), tasks(2)).rows.equals(first.rows) and reader.given == []
    more = Budget(ENOUGH.seconds, ENOUGH.tokens, 20.0)
    assert runner(reader, tmp_path, more).trial(sides(), tasks(2)).facts.stopped_early is None


def test_several_at_a_time_give_the_same_rows_and_share_what_is_left(tmp_path):
    alone = runner(Scripted()).trial(sides(), tasks(3))
    reader = Scripted()
    many = Runner(reader, ENOUGH, 2, "round-0001", tmp_path, workers=4)
    trial = many.trial(sides(), tasks(3))
    assert trial.rows.equals(alone.rows) and (trial.facts, trial.cost) == (alone.facts, alone.cost)
    assert {round(left.money, 2) for left in reader.left} == {2.5, 2.49, 2.48}


def test_a_group_that_ends_the_budget_ends_it_the_same_when_it_is_made_again(tmp_path):
    budget = Budget(1000.0, 10_000, 0.05)
    first = Runner(Scripted(), budget, 2, "round-0001", tmp_path, workers=4).trial(sides(), tasks(3))
    assert first.rows.height == 8 and "(8 of 12 rollouts were run)" in first.facts.stopped_early
    reader = Scripted()
    again = Runner(reader, budget, 2, "round-0001", tmp_path, workers=4).trial(sides(), tasks(3))
    assert again.rows.equals(first.rows) and (again.facts, reader.given) == (first.facts, [])


def test_what_two_patches_share_is_spent_once(tmp_path):
    shared = runner(Scripted(), tmp_path)
    first = shared.trial(sides(), tasks(2))
    second = shared.trial(sides(after="newer"), tasks(2))
    assert first.cost == second.cost and first.cost.rollouts == 8  # what the evidence of each rests on
    assert (shared.spent.attempts, shared.anew.attempts) == (12, 12)


def test_a_trial_names_its_own_models_alone():
    reader = Scripted(lambda _, text: attempt(models=("m", "helper") if text == "new" else ("m",)))
    many = runner(reader)
    first = many.trial(sides(), tasks(2))
    second = many.trial(sides(after="newer"), tasks(2))
    assert (first.facts.model, set(first.answered)) == ("helper, m", {("m",), ("helper", "m")})
    assert (second.facts.model, second.answered) == ("m", (("m",),))
    assert many.models == {"m", "helper"}


def test_models_of_lost_rollouts_and_of_those_that_tell_none_are_no_difference():
    def told(task, text):
        if len(reader.given) > 4:
            return attempt(None, finish="infra_error", models=("busy",), why="busy")
        return attempt(models=() if len(reader.given) == 3 else ("m", "helper", "m"))

    reader = Scripted(told)
    trial = runner(reader).trial(sides(), tasks(2))
    assert (trial.rows.height, trial.answered, trial.facts.model) == (5, (("helper", "m"),), "helper, m")


def test_the_reader_is_told_what_is_left():
    reader = Scripted()
    runner(reader).trial(sides(), tasks(1))
    assert [round(left.money, 2) for left in reader.left] == [10.0, 9.99, 9.98, 9.97]
