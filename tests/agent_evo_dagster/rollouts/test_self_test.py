"""The rollout judge tests itself before it spends anything, and a broken one is found out."""

import pytest

from agent_evo_dagster.errors import GateError
from agent_evo_dagster.patches import rollout
from agent_evo_dagster.patches.acceptance.ungated import Ungated
from agent_evo_dagster.rollouts import self_test
from agent_evo_dagster.rollouts.self_test import knowns, rollout_self_test


def test_it_tells_good_from_bad_and_is_not_pleased_by_words():
    assert rollout_self_test() == len(knowns()) == 9


def test_a_judge_that_accepts_everything_is_found_out(monkeypatch):
    monkeypatch.setattr(self_test, "Rollout", lambda trials: rollout.Rollout(trials, Ungated()))
    with pytest.raises(GateError, match=r"a text that harms: accept.*a text that only pleases: accept"):
        rollout_self_test()


def test_a_judge_that_reads_the_answer_for_the_verdict_is_found_out(monkeypatch):
    monkeypatch.setattr(self_test, "answers", lambda said, _: "accept it" in said or said.endswith("7"))
    with pytest.raises(GateError, match="a text that only pleases"):
        rollout_self_test()


def test_a_judge_that_cannot_see_quotes_is_found_out(monkeypatch):
    monkeypatch.setattr(rollout, "_quoting", lambda *_: [])
    with pytest.raises(
        GateError, match=r"a text that quotes a task: accept.*; a text that tells an answer: accept"
    ):
        rollout_self_test()


def test_a_judge_that_cannot_see_who_answered_is_found_out(monkeypatch):
    monkeypatch.setattr(rollout, "_mixing", lambda *_: [])
    with pytest.raises(GateError, match="a text that another model has: accept"):
        rollout_self_test()


def test_a_check_that_takes_anything_is_found_out(monkeypatch):
    monkeypatch.setattr(self_test, "passes", lambda *_: True)
    with pytest.raises(GateError, match=r"a check that does not: True.*a check that does not end: True"):
        rollout_self_test()
