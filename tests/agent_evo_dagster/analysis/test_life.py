"""Where a patch stands, what became of it, how to go back, and how it was judged, in words."""

import json

import pytest

from agent_evo_dagster.analysis.views import life
from agent_evo_dagster.analysis.views.judging import compared, cost_of
from tests.agent_evo_dagster.analysis.builders import life_frame

PATCH = "p-0123456789abcdef"


def events(*names, **place):
    return life.events_by_patch(life_frame(*names, **place)).get(PATCH, [])


@pytest.mark.parametrize(
    ("decision", "on_record", "state"),
    [
        ("wait", (), "wait"),
        ("none", (), "none"),
        ("approve", (), "approve"),
        ("wait", ("make",), "wait"),
        ("wait", ("consent",), "wait"),
        ("wait", ("consent", "approve"), "approve"),
        ("approve", ("approve", "adopt"), "in"),
        ("approve", ("approve", "adopt", "replay"), "in"),
        ("approve", ("approve", "adopt", "take_out"), "out"),
        ("approve", ("approve", "adopt", "take_out", "put_back"), "in"),
        ("approve", ("approve", "withdraw"), "withdraw"),
        ("wait", ("expire",), "expire"),
        ("reject", ("reject",), "reject"),
        ("a word of later", (), "none"),
        ("wait", ("an event of later",), "none"),
    ],
)
def test_the_record_has_the_last_word_on_where_a_patch_stands(decision, on_record, state):
    assert life.standing(decision, events(*on_record)) == state


@pytest.mark.parametrize(
    ("decision", "on_record", "told"),
    [
        ("approve", ("approve", "adopt"), ""),
        ("wait", (), ""),
        ("wait", ("consent",), ""),
        ("wait", ("approve",), "2026-01-05 09:00 UTC: approved by Ada: the reason of approve"),
        (
            "approve",
            ("approve", "withdraw"),
            "2026-01-05 10:00 UTC: withdrawn by Ada: the reason of withdraw",
        ),
        ("withdraw", ("approve", "withdraw"), ""),
    ],
)
def test_what_overtook_the_decision_is_told_and_nothing_else(decision, on_record, told):
    assert life.since(decision, events(*on_record)) == told


def test_each_event_but_the_decision_is_told_with_time_place_person_and_reason():
    told = life.history("approve", events("approve", "adopt", "replay", "take_out", round_key="round-0003"))
    assert told == (
        "2026-01-05 10:00 UTC: written into the skill",
        "2026-01-05 11:00 UTC: replayed on later sessions in round-0003: the reason of replay",
        "2026-01-05 12:00 UTC: taken out of the skill in round-0003 by the rule regression: "
        "the reason of take_out",
    )
    assert life.history("wait", events("approve"))[0].endswith("approved by Ada: the reason of approve")


def test_every_state_that_can_be_left_has_its_command_and_the_others_have_none():
    ways = {state: [command for _, command in life.ways("p-1", "s", "r", state)] for state in life.STANDINGS}
    assert ways == {
        "in": ["agent-evo skills rollback p-1 --by NAME --reason TEXT"],
        "approve": [
            "agent-evo rounds run r --only adopt",
            "agent-evo patches withdraw p-1 --by NAME --reason TEXT",
        ],
        "out": [
            "agent-evo skills versions s",
            "agent-evo skills rollback s --to VERSION --by NAME --reason TEXT",
        ],
        "wait": ["agent-evo rounds run r --only adopt"],
        **{state: [] for state in ("reject", "withdraw", "expire", "none")},
    }


def test_names_in_commands_cannot_end_them():
    for state in ("in", "approve", "out"):
        for _, command in life.ways("p; rm", "s; rm", "r; rm", state):
            assert "; rm'" in command


PROBE = {"seeds": [1, 2], "tasks": 100, "samples": 4, "steps": 6, "stopped_early": None}
REPLAY = {"made_in": "round-0001", "sessions": 6, "failures": 3, "named_before": 0, "named_after": 2}
ROLLOUT = {"operator": "claude_code", "model": "m", "tasks": 1, "samples": 2, "stopped_early": "no money"}
LLM = {
    "service": "s", "model": None, "rubric": "v1", "samples": 3, "asked": 2, "by_position": 1, "votes": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"facts": PROBE}, "for each of 2 seeds, two short trainings of 6 steps"),
        ({"facts": None, "replay": REPLAY}, "which of 3 failures under this skill, in 6 sessions"),
        ({"replay": REPLAY | {"sessions": 0}}, "no session came after round-0001"),
        ({"rollout": ROLLOUT}, "claude_code (m) following the skill as it is and with the patch: 1 task,"),
        ({"rollout": ROLLOUT}, "ended early: no money"),
        ({"llm": LLM}, "2 of 3 comparisons, each in both orders; 1 of 8 votes followed the order"),
    ],
)
def test_what_was_compared_is_told_in_words(evidence, told):
    assert told in compared(json.dumps(evidence))


def test_a_patch_that_nobody_judged_was_compared_with_nothing_and_cost_nothing():
    assert (compared(""), compared("{}"), cost_of("{}")) == ("", "", "")


def test_the_cost_of_judging_is_told_in_its_units():
    cost = {"rollouts": 1600, "tokens": 123456, "training_steps": 24, "calls": 1, "usd": 0.25}
    told = cost_of(json.dumps({"cost": cost}))
    assert told == "1600 scored rollouts, 24 optimiser steps, 123,456 tokens, 1 call, 0.25 US dollars"


def test_a_rule_that_decided_is_told_as_one_and_a_person_by_name():
    assert [life.by_words(name) for name in ("policy:auto", "Ada", "")] == ["the rule auto", "Ada", ""]
