"""What is read back from the rounds of a home."""

import pytest

from agent_evo_dagster.errors import EvaluationError
from benchmarks import closed_loop_trials
from benchmarks.closed_loop_trials import changed_weights, read_trial
from tests.benchmarks.trials import TASKS, evaluation, store_fresh, store_round


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Two rounds; the first raises the learning rate, and one of two weights moves."""
    store_round(tmp_path, "round-0001", evaluation(2, 5), 2e-5, [1.0, 2.0])
    store_round(tmp_path, "round-0002", evaluation(5, 11), 1e-4, [1.0, 2.5])
    store_fresh(tmp_path, 6, 12)
    first = tmp_path / "runs" / "round-0001" / "train" / "checkpoint"
    monkeypatch.setattr(closed_loop_trials, "EMBEDDED", first)
    return tmp_path


def test_a_trial_holds_the_accuracy_of_every_task_at_the_start_and_after_each_round(home):
    trial = read_trial(home, "gated", 3, rounds=2)
    assert trial.tasks == TASKS
    assert [sum(stage) for stage in trial.sampled] == [2, 5, 11]
    assert [sum(stage) for stage in trial.greedy] == [2, 5, 11]
    assert [sum(stage) for stage in trial.fresh] == [6, 12]
    assert trial.checkpoints == ("base", "weights of round-0001", "weights of round-0002")
    assert (trial.weights, trial.weights_changed) == (2, 1)


def test_a_trial_tells_what_each_round_trained_with_and_what_became_of_its_patch(home):
    trial = read_trial(home, "gated", 3, rounds=2)
    assert [settings["learning_rate"] for settings in trial.settings] == [2e-5, 1e-4]
    first = trial.patches[0]
    assert (first.round, first.settings) == (1, {"learning_rate": (2e-5, 1e-4)})
    assert (first.verdict, first.decision, first.difference) == ("accept", "approve", 0.1)


def test_rounds_that_were_scored_on_other_tasks_are_refused(home):
    store_round(home, "round-0003", evaluation(2, 5, tasks=TASKS[1:]), 1e-4, [1.0, 2.5])
    with pytest.raises(EvaluationError, match="not scored on the same tasks"):
        read_trial(home, "gated", 3, rounds=3)


def test_equal_weights_of_another_width_count_as_unchanged(tmp_path):
    import torch
    from safetensors.torch import save_file

    half, full = torch.tensor([1.5, -0.25], dtype=torch.bfloat16), torch.tensor([1.5, -0.25])
    for name, values in (("half", half), ("full", full), ("moved", torch.tensor([1.5, -0.25000003]))):
        (tmp_path / name).mkdir()
        save_file({"w": values}, tmp_path / name / "model.safetensors")
    assert changed_weights(tmp_path / "half", tmp_path / "full") == (2, 0)
    assert changed_weights(tmp_path / "half", tmp_path / "moved") == (2, 1)
