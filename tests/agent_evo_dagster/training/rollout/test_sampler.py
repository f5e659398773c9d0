import pytest

from agent_evo_dagster.training.rollout import sampler
from agent_evo_dagster.training.rollout.sampler import Sampler, below_one, summing_type
from agent_evo_dagster.training.rollout.types import Sampling

pytestmark = pytest.mark.usefixtures("torch")


def test_greedy_takes_the_most_likely_and_gives_its_log_probability(torch):
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    tokens, logprobs = Sampler(Sampling(0.0, 0), 2, 4).choose(logits, [0, 1], [0, 0])
    assert tokens == [1, 0]
    assert logprobs == pytest.approx(torch.log_softmax(logits, -1)[[0, 1], [1, 0]].tolist())


def test_shares_of_samples_are_the_probabilities(torch):
    rows = 20_000
    logits = torch.log(torch.tensor([0.5, 0.3, 0.2, 0.0])).expand(rows, 4)
    tokens, _ = Sampler(Sampling(1.0, 0), rows, 1).choose(logits, list(range(rows)), [0] * rows)
    shares = torch.bincount(torch.tensor(tokens), minlength=4) / rows
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2, 0.0], abs=0.015)
    assert 3 not in tokens


def test_temperature_shapes_both_the_choice_and_its_log_probability(torch):
    logits = torch.tensor([[0.0, 1.0]])
    _, (cold,) = Sampler(Sampling(0.5, 0), 1, 1).choose(logits, [0], [0])
    assert any(cold == pytest.approx(value) for value in torch.log_softmax(logits / 0.5, -1)[0].tolist())


def test_a_row_draws_the_same_whoever_is_beside_it(torch):
    logits = torch.randn(8, 50, generator=torch.Generator().manual_seed(0))
    sampler = Sampler(Sampling(1.0, 7), 8, 3)
    everyone, _ = sampler.choose(logits, list(range(8)), [2] * 8)
    some, _ = sampler.choose(logits[[1, 5]], [1, 5], [2, 2])
    fewer, _ = Sampler(Sampling(1.0, 7), 4, 3).choose(logits[:4], [0, 1, 2, 3], [2] * 4)
    assert some == [everyone[1], everyone[5]]
    assert fewer == everyone[:4]


def test_the_global_generator_is_neither_used_nor_moved(torch):
    before = torch.random.get_rng_state()
    Sampler(Sampling(1.0, 0), 4, 4)
    assert torch.equal(before, torch.random.get_rng_state())


def test_probabilities_are_summed_in_float64_wherever_a_device_has_it(torch):
    assert {summing_type(device) for device in ("cpu", "cuda", "npu")} == {torch.float64}
    assert summing_type("mps") == torch.float32


def test_without_float64_the_same_is_drawn_but_at_the_edge_of_a_token(torch, monkeypatch):
    logits = 3 * torch.randn(4000, 448, generator=torch.Generator().manual_seed(0))
    rows = list(range(4000))
    expected = Sampler(Sampling(1.0, 5), 4000, 1).choose(logits, rows, 0)
    monkeypatch.setattr(sampler, "WITHOUT_FLOAT64", frozenset({"cpu"}))
    tokens, logprobs = Sampler(Sampling(1.0, 5), 4000, 1).choose(logits, rows, 0)
    same = [row for row in rows if tokens[row] == expected[0][row]]
    assert len(same) >= 3990
    assert [logprobs[row] for row in same] == [expected[1][row] for row in same]


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_the_largest_number_draws_a_token_that_can_be_drawn(torch, device):
    """A number that was rounded to 1 would draw the last token, whatever its probability."""
    dtype = summing_type(device)
    largest = torch.tensor([1 - 2.0**-53], dtype=torch.float64)
    sums = torch.rand(100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.5
    sums = torch.cat([sums.to(dtype), torch.tensor([0.5, 1.0], dtype=dtype)])
    assert (below_one(largest, dtype) * sums < sums).all()
