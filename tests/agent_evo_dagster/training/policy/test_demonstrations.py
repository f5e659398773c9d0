import random

import pytest

from agent_evo_dagster.training.environments.problems import problem
from agent_evo_dagster.training.policy.demonstrations import Demonstrator, draw_habit

TASK = problem("swap-27-45-3")


def turns(habit, seed=0):
    return Demonstrator().turns(TASK, habit, random.Random(seed))


def score(environment, habit, seed=0):
    episode = environment.episode(TASK)
    for turn in turns(habit, seed):
        reply = episode.act(turn)
    assert reply.done
    return episode.score()


def test_a_good_agent_calculates_and_reports(environment):
    assert score(environment, "correct").reward == pytest.approx(1.0)


@pytest.mark.parametrize("habit", ["lazy", "malformed", "wrong_operator", "wrong_finish"])
def test_a_bad_habit_earns_less(environment, habit):
    assert score(environment, habit, seed=1).reward < 0.3


def test_a_lazy_agent_uses_no_tool(environment):
    assert score(environment, "lazy").components["tool_used"] == 0


def test_a_malformed_turn_is_a_fault_of_the_protocol(environment):
    assert score(environment, "malformed").components["malformed"] == pytest.approx(-0.03)


def test_only_what_the_agent_writes_is_learnt(renderer):
    shown = Demonstrator().encode(TASK, "correct", random.Random(0), renderer)
    learnt = [token for token, mark in zip(shown.ids, shown.learnt, strict=True) if mark]
    assert renderer.text(learnt) == "".join(f"{turn}<|im_end|>" for turn in turns("correct"))


def test_a_demonstration_is_laid_out_as_a_rollout(renderer, environment):
    shown = Demonstrator().encode(TASK, "correct", random.Random(0), renderer)
    prompt = renderer.prompt(environment.episode(TASK).opening())
    assert shown.ids[: len(prompt)] == prompt
    assert renderer.encode(renderer.text(shown.ids)) == shown.ids


def test_habits_are_drawn_by_their_share():
    rng = random.Random(0)
    drawn = [draw_habit({"a": 0.75, "b": 0.25}, rng) for _ in range(4000)]
    assert drawn.count("a") / 4000 == pytest.approx(0.75, abs=0.03)
