import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends.capabilities import (
    BACKENDS,
    capability_table,
    refuse_unsupported,
    support,
)
from agent_evo_dagster.training.config import TrainingConfig


def test_every_setting_says_for_every_backend_what_becomes_of_it():
    for name in TrainingConfig.model_fields:
        for backend in BACKENDS:
            assert support(backend, name).target


def test_a_setting_that_nobody_spoke_of_is_an_error_for_verl():
    with pytest.raises(TrainingError, match="Nobody has said what verl does with new_knob"):
        support("verl", "new_knob")


def test_the_defaults_can_be_trained_by_hf_and_by_verl():
    refuse_unsupported(TrainingConfig())
    refuse_unsupported(TrainingConfig(backend="verl"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scale_rewards": "batch"}, "scale_rewards = 'batch': it can do group, none"),
        ({"loss_type": "bnpo"}, "loss_type = 'bnpo': it can do grpo, dapo, dr_grpo"),
        ({"device": "cpu"}, "device = 'cpu': it can do auto, cuda, npu"),
        ({"dtype": "float32"}, "dtype = 'float32': it can do auto, bfloat16"),
        ({"max_steps": 7, "num_iterations": 2}, "max_steps = 7: .* make it a multiple"),
    ],
)
def test_what_verl_cannot_do_is_an_error_that_says_what_it_can(values, said):
    with pytest.raises(TrainingError, match=f"The backend verl cannot do:\n  {said}"):
        refuse_unsupported(TrainingConfig(backend="verl", **values))
    refuse_unsupported(TrainingConfig(**values))


MINDSPEED = {
    "backend": "mindspeed_rl", "loss_type": "grpo", "device": "npu", "max_turns": 1, "epsilon_high": 0.2,
    "max_new_tokens": 96, "max_completion_length": 96,
}  # fmt: skip


def test_mindspeed_does_what_it_can():
    refuse_unsupported(TrainingConfig.model_validate(MINDSPEED))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"epsilon_high": 0.28}, "one clip range"),
        ({"max_turns": 3}, "max_turns = 3: it can do 1"),
        ({"lora_rank": 8}, "it has no such setting; leave it at 0"),
        ({"max_new_tokens": 40}, "set it to max_completion_length"),
        ({"device": "cuda"}, "it can do npu"),
    ],
)
def test_what_mindspeed_cannot_do_is_an_error(values, said):
    with pytest.raises(TrainingError, match=said):
        refuse_unsupported(TrainingConfig.model_validate({**MINDSPEED, **values}))


def test_all_problems_are_told_at_once():
    with pytest.raises(TrainingError) as caught:
        refuse_unsupported(TrainingConfig(backend="verl", dtype="float16", device="mps"))
    assert str(caught.value).count("\n") == 2


def test_the_table_has_a_row_for_every_setting():
    rows = capability_table().splitlines()
    assert len(rows) == len(TrainingConfig.model_fields) + 2
    assert len({row.count("|") for row in rows}) == 1
