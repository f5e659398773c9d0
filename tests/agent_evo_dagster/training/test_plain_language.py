"""What a sentence says about the training, and what is left over."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.plain_language import MAX_REQUEST_CHARACTERS, read_request


def understood(text: str) -> dict[str, float | int | str]:
    return {item.name: item.value for item in read_request(text).understood}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr=5e-6.", {"learning_rate": 5e-6}),
        ("learning rate 1e-5", {"learning_rate": 1e-5}),
        ("Set the Learning Rate to 3e-5!", {"learning_rate": 3e-5}),
        ("batch size of 8", {"prompts_per_step": 8}),
        ("20 steps", {"max_steps": 20}),
        ("2,000 steps", {"max_steps": 2000}),
        ("2k steps", {"max_steps": 2000}),
        ("steps = 5", {"max_steps": 5}),
        ("8 generations", {"num_generations": 8}),
        ("temperature 0.8", {"temperature": 0.8}),
        ("seed 3", {"seed": 3}),
        ("learning rate 0", {"learning_rate": 0}),
        ("warm-up of 3 steps, 20 steps", {"warmup_steps": 3, "max_steps": 20}),
        ("adam beta2 0.98, epsilon high 0.3", {"adam_beta2": 0.98, "epsilon_high": 0.3}),
        ("max_steps: 30; loss_type=grpo", {"max_steps": 30, "loss_type": "grpo"}),
        ("lr 1e-5,200 steps", {"learning_rate": 1e-5, "max_steps": 200}),
        ("100 held-out problems", {"evaluation_tasks": 100}),
        ("the embedded policy", {"model": "embedded"}),
        ("学习率 1e-5", {"learning_rate": 1e-5}),
        ("20 步", {"max_steps": 20}),
        ("学习率1e-5训练20步，温度为0.8，批大小 8，种子 3", None),
        ("20 steps, steps=20", {"max_steps": 20}),
    ],
)
def test_settings_are_understood(text, expected):
    everything = {
        "learning_rate": 1e-5,
        "max_steps": 20,
        "temperature": 0.8,
        "prompts_per_step": 8,
        "seed": 3,
    }
    reading = read_request(text)
    assert {item.name: item.value for item in reading.understood} == (expected or everything)
    assert reading.ignored == ""


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("1,000 problems", "1,000 problems"),
        ("100 math problems, lr=1e-5", "100 math problems"),
        ("quick test with 64 problems", "quick test with 64 problems"),
        ("lr=1e-5x", "lr=1e-5x"),
        ("temperature 0.8%", "temperature 0.8%"),
        ("beta2 0.9", "beta2 0.9"),
        ("save every 5 steps, 20 steps", "save every 5 steps"),
        ("每 5 步评估", "每 5 步评估"),
        ("make it good; seed 3; and soon", "make it good; soon"),
    ],
)
def test_what_is_not_understood_is_said_as_it_was_written(text, ignored):
    assert read_request(text).ignored == ignored


def test_the_words_are_those_of_the_request():
    items = read_request("Train for 20 steps with lr=5e-6.").understood
    assert [item.words for item in items] == ["20 steps", "lr=5e-6"]


@pytest.mark.parametrize(
    "model", ["Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B", "Llama-3-8B", "foo-7B-chat", "qwen"]
)
def test_a_model_that_cannot_be_trained_here_is_an_error(model):
    with pytest.raises(TrainingError, match=rf"model '{model}'.*trains here: embedded"):
        read_request(f"train {model}, lr 1e-5.")


def test_one_setting_with_two_values_is_an_error():
    with pytest.raises(TrainingError, match="learning_rate twice: 'lr 1e-5' and 'learning rate 2e-5'"):
        read_request("lr 1e-5 or learning rate 2e-5")


def test_a_request_has_a_bounded_length():
    with pytest.raises(TrainingError, match="at most 4,000"):
        read_request("a" * (MAX_REQUEST_CHARACTERS + 1))


@pytest.mark.parametrize("piece", ["a.", "1,000", "qwen/", "lr = ", "学习率", "--", "\0 "])
def test_hostile_repetition_is_read_in_bounded_time(piece):
    started = time.process_time()
    with contextlib.suppress(TrainingError):
        read_request(piece * (MAX_REQUEST_CHARACTERS // len(piece)))
    assert time.process_time() - started < 2


@settings(deadline=None)
@given(st.floats(1e-6, 1e-2), st.integers(1, 200), st.integers(2, 64))
def test_numbers_come_back_as_they_were_given(rate, steps, generations):
    text = f"Use lr={rate!r}, {steps} steps and {generations} generations."
    assert understood(text) == {"learning_rate": rate, "max_steps": steps, "num_generations": generations}
    assert read_request(text).ignored == ""


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_divided_without_a_crash(text):
    try:
        reading = read_request(text)
    except TrainingError:
        return
    assert all(item.words in text.replace("\0", " ") for item in reading.understood)
