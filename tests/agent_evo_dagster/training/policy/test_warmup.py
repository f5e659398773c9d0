import subprocess
import sys

import pytest

from agent_evo_dagster.files import sha256_file
from agent_evo_dagster.training.policy.checkpoints import EMBEDDED
from agent_evo_dagster.training.policy.warmup import BAD_HABITS, Recipe, warm_up

TINY = Recipe(clean_steps=6, noisy_steps=2, batch=4, corpus_tasks=50, vocabulary=300)


def test_habits_add_up_to_one():
    assert sum(BAD_HABITS.values()) == pytest.approx(1)


def test_the_same_recipe_makes_the_same_weights_and_vocabulary(torch):
    one, tokenizer = warm_up(TINY)
    two, other = warm_up(TINY)
    assert tokenizer.get_vocab() == other.get_vocab()
    for ours, theirs in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_another_seed_makes_other_weights(torch):
    one, _ = warm_up(TINY)
    two, _ = warm_up(Recipe(**{**vars(TINY), "seed": 1}))
    assert not torch.equal(one.lm_head.weight, two.lm_head.weight)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_shipped_policy_can_be_remade(tmp_path):
    module = "agent_evo_dagster.training.policy.warmup"
    subprocess.run([sys.executable, "-m", module, "--out", str(tmp_path / "made")], check=True)
    for name in ("model.safetensors", "tokenizer.json", "chat_template.jinja"):
        assert sha256_file(tmp_path / "made" / name) == sha256_file(EMBEDDED / name), name
