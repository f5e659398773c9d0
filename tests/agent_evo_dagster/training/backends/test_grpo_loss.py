"""TRL computes the loss and the advantages that the papers define, also on masks with holes."""

import pytest

from agent_evo_dagster.training.backends.grpo_arguments import grpo_arguments
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.placement import Placement

TOLERANCE = 2e-5  # relative to 1: TRL works in float32, the oracle in float64
ROWS, PROMPT, TOKENS, GROUP = 8, 5, 12, 4

SETTINGS = [
    {"loss_type": kind, "beta": beta, "entropy_coef": coefficient}
    for kind in ("grpo", "dapo", "dr_grpo", "bnpo")
    for beta, coefficient in ((0.0, 0.0), (0.04, 0.0), (0.04, 0.02))
]


@pytest.fixture(autouse=True)
def quiet_trl(monkeypatch, torch):
    pytest.importorskip("trl", reason="the extra hf is not installed")
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")


@pytest.fixture(scope="module")
def model(torch):
    from agent_evo_dagster.training.policy.checkpoints import load_policy

    return load_policy(None)


def trainer_of(policy, config, folder):
    from datasets import Dataset
    from trl import GRPOTrainer

    trainer = GRPOTrainer(
        model=policy.model,
        processing_class=policy.tokenizer,
        reward_funcs=[lambda completions, **_: [0.0] * len(completions)],
        train_dataset=Dataset.from_dict({"prompt": ["x"] * config.prompts_per_step}),
        args=grpo_arguments(config, folder, Placement("cpu", "float32")),
    )
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def random_batch(torch, seed, vocabulary):
    """Rows of different lengths, with environment tokens inside and ratios on both sides of the clip."""
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, TOKENS + 1, (ROWS,), generator=draw)
    completion_mask = (torch.arange(TOKENS)[None] < lengths[:, None]).long()
    sampled = (torch.rand(ROWS, TOKENS, generator=draw) < 0.7).long()
    sampled[:, 0] = 1
    return {
        "prompt_ids": torch.randint(5, vocabulary, (ROWS, PROMPT), generator=draw),
        "prompt_mask": torch.ones(ROWS, PROMPT, dtype=torch.long),
        "completion_ids": torch.randint(5, vocabulary, (ROWS, TOKENS), generator=draw),
        "completion_mask": completion_mask,
        "tool_mask": sampled,
        "advantages": torch.randn(ROWS, generator=draw),
        "noise": torch.randn(2, ROWS, TOKENS, generator=draw) * 0.3,
        "num_items_in_batch": (completion_mask * sampled).sum(),
    }


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: "-".join(map(str, each.values())))
def test_the_loss_and_its_gradient_are_those_of_the_papers(torch, model, tmp_path, settings, seed):
    from tests.agent_evo_dagster.training.backends.grpo_reference import Batch, grpo_loss, log_probabilities

    config = TrainingConfig(
        prompts_per_step=ROWS // GROUP, num_generations=GROUP, temperature=0.7, epsilon_high=0.28, **settings
    )
    trainer = trainer_of(model, config, tmp_path)
    batch = random_batch(torch, seed, model.model.config.vocab_size - 64)
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)

    def logs():
        logits = model.model(input_ids=ids).logits[:, PROMPT - 1 : -1]
        return log_probabilities(logits, batch["completion_ids"], config.temperature)

    now = logs()[0].detach()
    noise = batch.pop("noise")
    old, reference = now + noise[0], now + noise[1]
    batch |= {"old_per_token_logps": old.float(), "ref_per_token_logps": reference.float()}
    mask = batch["completion_mask"] * batch["tool_mask"]

    model.model.train()
    model.model.zero_grad()
    got = trainer._compute_loss(model.model, batch)
    got.backward()
    gradient = [parameter.grad.clone() for parameter in model.model.parameters()]
    model.model.zero_grad()
    log_probability, entropy = logs()
    wanted = grpo_loss(
        log_probability, entropy, Batch(old, reference, mask, batch["advantages"].double()), config
    )
    wanted.backward()

    assert abs(got.item() - wanted.item()) < TOLERANCE
    largest = max(parameter.grad.abs().max().item() for parameter in model.model.parameters())
    pairs = zip(gradient, model.model.parameters(), strict=True)
    assert max((mine - other.grad).abs().max().item() for mine, other in pairs) < 1e-3 * largest
    model.model.zero_grad()


def test_a_token_of_the_environment_changes_nothing(torch, model, tmp_path):
    config = TrainingConfig(prompts_per_step=ROWS // GROUP, num_generations=GROUP)
    trainer = trainer_of(model, config, tmp_path)
    batch = random_batch(torch, 3, model.model.config.vocab_size - 64)
    batch["old_per_token_logps"] = -batch.pop("noise")[0].abs() - 1
    last = {**batch, "tool_mask": batch["tool_mask"].clone()}
    last["tool_mask"][:, -1] = 0
    changed = {**last, "old_per_token_logps": last["old_per_token_logps"].clone()}
    changed["old_per_token_logps"][:, -1] += 5
    losses = [trainer._compute_loss(model.model, one).item() for one in (last, changed)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_are_those_of_the_rewards_that_were_kept(torch, monkeypatch, environment, scale):
    from trl import GRPOTrainer

    from tests.agent_evo_dagster.training.backends.grpo_reference import advantages
    from tests.agent_evo_dagster.training.backends.test_hf import run

    config = TrainingConfig(
        max_steps=1, prompts_per_step=4, num_generations=4, scale_rewards=scale, seed=5, learning_rate=0
    )
    seen = []
    inner = GRPOTrainer._compute_loss

    def spying(self, policy, inputs):
        seen.append(inputs["advantages"])
        return inner(self, policy, inputs)

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", spying)
    trained = run(config, environment)[2]
    rewards = torch.tensor(trained.rollouts["reward"].to_list(), dtype=torch.float64)
    wanted = advantages(rewards, config)
    order = [seen[0].double().sort().values, wanted.sort().values]  # TRL shuffles the rows of a batch
    assert torch.allclose(*order, atol=1e-3)
    assert wanted.abs().max() > 0
