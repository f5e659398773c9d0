import json
import math

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.metrics import append_line, finite, read_metrics
from agent_evo_dagster.training.types import METRIC_SCHEMA


def test_what_is_not_finite_is_null_and_what_is_no_number_is_left_out():
    logs = {"loss": math.nan, "grad_norm": math.inf, "reward": 1, "kl": None, "note": "x"}
    assert finite(logs) == {"grad_norm": None, "kl": None, "loss": None, "reward": 1.0}


def test_names_are_in_order_whatever_the_order_they_came_in():
    assert list(finite({"b": 1, "a": 2})) == ["a", "b"]


def test_steps_are_read_back_as_rows_with_the_null_flagged(tmp_path):
    path = tmp_path / "metrics.jsonl"
    append_line(path, 1, {"loss": 0.5, "reward": None})
    append_line(path, 2, {"loss": 0.25})
    frame = read_metrics(path)
    assert frame.schema == METRIC_SCHEMA
    assert frame.rows() == [(1, "loss", 0.5, True), (1, "reward", None, False), (2, "loss", 0.25, True)]


def test_a_line_of_timings_says_so(tmp_path):
    append_line(tmp_path / "timings.jsonl", 1, {"step_time": 0.5})
    assert json.loads((tmp_path / "timings.jsonl").read_text()) == {"step": 1, "timings": {"step_time": 0.5}}


def test_missing_metrics_say_what_happened(tmp_path):
    with pytest.raises(TrainingError, match="did not reach its first step"):
        read_metrics(tmp_path / "metrics.jsonl")


@pytest.mark.parametrize("line", ["{", "[]", '{"step": 1}', '{"step": "x", "metrics": {}}'])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "metrics": {}}\n' + line + "\n")
    with pytest.raises(TrainingError, match="line 2"):
        read_metrics(path)
