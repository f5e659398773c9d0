"""The lines of a run on standard error: which of a worker's are shown, and how often."""

import logging

import pytest

from agent_evo_dagster.training.reporting import STEPS_ARE_SHOWN
from automation import console
from automation.console import RoundFilter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    monkeypatch.delenv(STEPS_ARE_SHOWN, raising=False)
    return now


def shown(rules: RoundFilter, text: str, level: int = logging.INFO) -> bool:
    record = logging.LogRecord("dagster", level, "", 0, "context - %s", (text,), None)
    record.dagster_meta = {"orig_message": text, "step_key": "training_run"}
    return rules.filter(record)


def test_steps_are_told_every_few_seconds_and_other_lines_each_time(clock) -> None:
    rules = RoundFilter()
    assert shown(rules, "train: step 1 of 9: reward 0.4")
    assert not shown(rules, "train: step 2 of 9: reward 0.4, 1 s/step, 0:07 left")
    assert shown(rules, "phase: save")
    assert shown(rules, "of step 3: it was lost")
    clock[0] += console.STEP_SECONDS
    assert shown(rules, "train with verl: step 3: reward 0.4")
    assert not shown(rules, "worker: train, step 3", logging.DEBUG)


def test_steps_that_a_bar_shows_are_not_told(clock, monkeypatch) -> None:
    monkeypatch.setenv(STEPS_ARE_SHOWN, "1")
    assert not shown(RoundFilter(), "train: step 1 of 9: reward 0.4")
    assert shown(RoundFilter(), "phase: train")
