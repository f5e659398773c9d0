"""Where a training computes: what is asked for is there, or it is refused before it starts."""

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training import placement as module
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import (
    Placement,
    free_bytes,
    least_bytes,
    placement,
    require_memory,
)

CONFIG = TrainingConfig()


def with_devices(monkeypatch, *names):
    here = {name: (lambda known=name in names: known) for name in module.PREFERRED}
    monkeypatch.setattr(module, "_AVAILABLE", here)


@pytest.mark.parametrize(
    ("here", "asked", "found"),
    [
        (("cpu",), {}, Placement("cpu", "float32")),
        (("cuda", "cpu"), {}, Placement("cuda", "bfloat16")),
        (("npu", "cpu"), {}, Placement("npu", "bfloat16")),
        (("mps", "cpu"), {}, Placement("mps", "float32")),
        (("cuda", "npu", "cpu"), {"device": "npu"}, Placement("npu", "bfloat16")),
        (("cuda", "cpu"), {"device": "cpu"}, Placement("cpu", "float32")),
        (("cuda", "cpu"), {"dtype": "float16"}, Placement("cuda", "float16")),
        (("cpu",), {"dtype": "bfloat16"}, Placement("cpu", "bfloat16")),
    ],
)
def test_auto_takes_the_first_device_and_what_is_asked_for_wins(monkeypatch, here, asked, found):
    with_devices(monkeypatch, *here)
    assert placement(CONFIG.model_copy(update=asked)) == found


@pytest.mark.parametrize("device", ["cuda", "npu", "mps"])
def test_a_device_that_is_not_here_is_refused_and_never_replaced(monkeypatch, device):
    with_devices(monkeypatch, "cpu")
    with pytest.raises(TrainingError, match=f"device={device} was asked for, and torch sees cpu here"):
        placement(CONFIG.model_copy(update={"device": device}))


def test_half_precision_on_a_cpu_is_refused(monkeypatch):
    with_devices(monkeypatch, "cpu")
    with pytest.raises(TrainingError, match="float16 does not train on a CPU"):
        placement(CONFIG.model_copy(update={"dtype": "float16"}))


def test_this_machine_has_a_device(torch):
    assert placement(CONFIG).device in module.PREFERRED
    assert free_bytes("cpu") > 0


def test_a_training_that_cannot_fit_is_refused_with_figures(policy, monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda device: 2**20)
    with pytest.raises(TrainingError, match=r"at least 0.1 GiB on cpu, and 0.0 GiB are free. Lower"):
        require_memory(policy.model, CONFIG, Placement("cpu", "float32"))


def test_what_a_training_needs_grows_with_what_it_holds(policy):
    least = least_bytes(policy.model, CONFIG)
    assert least > least_bytes(policy.model, CONFIG.model_copy(update={"lora_rank": 4}))
    assert least > least_bytes(policy.model, CONFIG.model_copy(update={"micro_batch_size": 16}))
    longer = CONFIG.model_copy(update={"max_completion_length": 200})
    assert least_bytes(policy.model, longer) > least
