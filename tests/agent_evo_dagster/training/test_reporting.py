import json
import logging
import time

import pytest

from agent_evo_dagster.training import reporting
from agent_evo_dagster.training.heartbeat import read_heartbeat
from agent_evo_dagster.training.reporting import RunReporter, Unfiled, tells_step


class FakePipes:
    def __init__(self):
        self.messages = []
        self.log = logging.getLogger("fake-pipes")

    def report_custom_message(self, payload):
        self.messages.append(json.loads(json.dumps(payload, allow_nan=False)))


@pytest.fixture
def pipes():
    return FakePipes()


def test_a_phase_is_seen_at_once(tmp_path, pipes):
    with RunReporter(tmp_path, pipes).beating() as reporter:
        reporter.phase("train")
        beat = read_heartbeat(tmp_path)
    assert (beat.phase, beat.step) == ("train", 0)
    assert pipes.messages == [{"type": "phase", "phase": "train"}]


def test_a_step_is_filed_apart_from_its_timings_and_told(tmp_path, pipes, caplog):
    caplog.set_level(logging.INFO)
    with RunReporter(tmp_path, pipes).beating() as reporter:
        reporter.phase("train")
        reporter.step(1, {"reward": 0.5, "loss": None}, {"step_time": 1.5})
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["metrics"] == {"reward": 0.5, "loss": None}
    assert json.loads((tmp_path / "timings.jsonl").read_text())["timings"] == {"step_time": 1.5}
    assert pipes.messages[-1] == {
        "type": "step",
        "phase": "train",
        "step": 1,
        "metrics": {"reward": 0.5, "loss": None},
    }
    assert "train: step 1: reward 0.5" in caplog.text
    assert read_heartbeat(tmp_path).step == 1


def test_a_step_of_a_part_is_told_and_not_filed(tmp_path, pipes):
    with RunReporter(tmp_path, pipes).beating() as reporter:
        reporter.phase("probe baseline seed 0")
        Unfiled(reporter).step(2, {"reward": 0.5}, {})
    assert not (tmp_path / "metrics.jsonl").exists()
    assert pipes.messages[-1]["phase"] == "probe baseline seed 0"


def test_a_line_of_a_step_tells_how_many_there_are_how_fast_and_when_they_are_done(tmp_path, pipes, caplog):
    caplog.set_level(logging.INFO)
    with RunReporter(tmp_path, pipes).beating() as reporter:
        reporter.phase("train (goes on after step 4)", done=4, steps=1000)
        reporter.step(5, {"reward": 0.5}, {})
        reporter.phase("save")
        beat = read_heartbeat(tmp_path)
    (line,) = [record.getMessage() for record in caplog.records if tells_step(record.getMessage())]
    head, pace, left = line.rsplit(", ", 2)
    assert head == "train (goes on after step 4): step 5 of 1000: reward 0.5"
    assert pace.endswith(" s/step") and float(pace.split()[0]) < 1  # not the time of the four before
    assert left.endswith(" left")
    assert (beat.phase, beat.step) == ("save", 5)


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_beat_moves_with_progress_and_stands_still_in_a_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "BEAT_SECONDS", 0.01)
    with RunReporter(tmp_path, None).beating() as reporter:
        for _ in range(2):
            progressed = time.time()
            reporter.tick()
            wait_until(lambda after=progressed: read_heartbeat(tmp_path).at >= after)
        first = read_heartbeat(tmp_path)
        time.sleep(0.1)
        assert read_heartbeat(tmp_path) == first


def test_ticks_become_messages_now_and_then(tmp_path, pipes, monkeypatch):
    with RunReporter(tmp_path, pipes).beating() as reporter:
        for _ in range(50):
            reporter.tick()
        assert pipes.messages == []
        monkeypatch.setattr(reporting, "MESSAGE_SECONDS", -1.0)
        reporter.tick()
    assert pipes.messages == [{"type": "heartbeat", "phase": "start", "step": 0}]


def test_without_dagster_nothing_but_files_is_written(tmp_path, capsys):
    with RunReporter(tmp_path, None).beating() as reporter:
        reporter.phase("load")
    assert "phase: load" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["heartbeat.json"]
