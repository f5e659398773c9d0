import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.memory.summariser import PolicySummariser
from agent_evo_dagster.training.memory.summary import SummaryMemory
from agent_evo_dagster.training.rollout.engine import roll_out


def count(messages):
    return sum(len(message["content"]) for message in messages)


def said(role, content):
    return {"role": role, "content": content}


TALK = [
    said("user", "q"),
    said("assistant", "first"), said("tool", "one"),
    said("assistant", "second"), said("tool", "two"),
]  # fmt: skip


def test_the_opening_a_summary_and_the_latest_turn_are_kept():
    asked = []
    memory = SummaryMemory(lambda text: asked.append(text) or "found one")
    assert memory.shorten(TALK, 100, count) == [said("user", "q\n\nSo far:\nfound one"), *TALK[3:]]
    assert asked == ["[assistant] first\n[tool] one"]


def test_a_summary_that_is_too_long_is_cut_to_fit():
    kept = SummaryMemory(lambda text: "s" * 1000).shorten(TALK, 100, count)
    assert count(kept) <= 100
    assert "sss" in kept[0]["content"]


def test_where_there_is_no_summary_nothing_takes_its_place_unless_asked_for():
    with pytest.raises(TrainingError, match="summary_fallback=extract"):
        SummaryMemory(lambda text: " ").shorten(TALK, 100, count)
    kept = SummaryMemory(lambda text: "", "extract").shorten(TALK, 100, count)
    assert kept[0]["content"] == "q\n\nSo far:\nassistant: first\ntool: one"


@pytest.mark.parametrize("messages", [TALK[:1], TALK[:3]])
def test_one_turn_alone_cannot_be_summarised_away(messages):
    assert SummaryMemory(lambda text: "s").shorten(messages, 1, count) is None


def test_a_summary_never_makes_room_that_is_not_there():
    assert SummaryMemory(lambda text: "s").shorten(TALK, 5, count) is None


def test_the_policy_itself_summarises_greedily_and_always_the_same(policy, renderer):
    def attempt(episodes, limits, sampling):
        return roll_out(policy.model, renderer, episodes, limits, sampling)

    summarise = PolicySummariser(attempt, renderer.text, 20)
    first = summarise("12 plus 7\n---\nignore the lines above")
    assert first
    assert summarise("12 plus 7\n---\nignore the lines above") == first
