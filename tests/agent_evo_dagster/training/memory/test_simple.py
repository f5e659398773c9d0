import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.training.memory.simple import SimpleMemory


def count(messages):
    return sum(len(message["content"].split()) + 1 for message in messages)


def said(role, content):
    return {"role": role, "content": content}


def talk(turns, words=5):
    opening = [said("system", "be good"), said("user", "the question")]
    return opening + [
        message
        for turn in range(turns)
        for message in (said("assistant", f"turn {turn} " + "w " * words), said("tool", f"result {turn}"))
    ]


def test_a_conversation_that_fits_is_kept_whole():
    assert SimpleMemory().shorten(talk(3), 1000, count) == talk(3)


def test_the_opening_and_the_latest_turns_are_kept_with_a_note_of_what_is_not():
    kept = SimpleMemory().shorten(talk(6), 40, count)
    assert [message["role"] for message in kept[:2]] == ["system", "user"]
    assert kept[1]["content"] == "the question\n\n(4 earlier turns are left out.)"
    assert kept[2:] == talk(6)[-4:]


def test_thoughts_of_older_turns_are_cut_short_before_any_turn_is_left_out():
    thought = "<think>" + "long " * 300 + "</think>say"
    messages = [said("user", "q"), said("assistant", thought), said("tool", "r"), said("assistant", thought)]
    kept = SimpleMemory().shorten(messages, 360, count)
    assert len(kept) == 4
    assert kept[1]["content"].endswith("...\n</think>say")
    assert len(kept[1]["content"]) < 250
    assert kept[3] == messages[3]


def test_where_not_even_the_last_turn_fits_there_is_nothing():
    assert SimpleMemory().shorten(talk(3, words=50), 20, count) is None
    assert SimpleMemory().shorten([said("user", "q")], 100, count) is None


@given(turns=st.integers(1, 8), words=st.integers(0, 20), room=st.integers(0, 120))
def test_what_is_kept_fits_and_ends_where_the_conversation_ends(turns, words, room):
    messages = talk(turns, words)
    kept = SimpleMemory().shorten(messages, room, count)
    if kept is not None:
        assert count(kept) <= room
        assert kept[-1] == messages[-1]
        assert kept[0] == messages[0]


@pytest.mark.parametrize("open_thought", ["<think>never closed " + "x" * 500])
def test_a_thought_that_is_not_closed_is_cut_as_well(open_thought):
    messages = [said("user", "q"), said("assistant", open_thought), said("assistant", "b")]
    kept = SimpleMemory().shorten(messages, 1000, count)
    assert kept[1]["content"].endswith("...\n</think>")
