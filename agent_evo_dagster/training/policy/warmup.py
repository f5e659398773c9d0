"""Making of the embedded policy: a short, seeded warm-up on demonstrations, clean first, then bad habits.

`python -m agent_evo_dagster.training.policy.warmup --out DIR` remakes the shipped checkpoint. The mix of
habits was chosen on the split `dev`: a policy that can use its tools and mostly does not, so that training
has work to do.
"""

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent_evo_dagster.training.environments.problems import draw
from agent_evo_dagster.training.policy.demonstrations import CLEAN, Demonstration, Demonstrator, draw_habit
from agent_evo_dagster.training.policy.model import new_model
from agent_evo_dagster.training.policy.tokenizer import train_tokenizer
from agent_evo_dagster.training.process_environment import prepare
from agent_evo_dagster.training.rollout.render import ChatRenderer

BAD_HABITS: Mapping[str, float] = MappingProxyType(
    {"correct": 0.30, "lazy": 0.53, "wrong_operator": 0.07, "malformed": 0.05, "wrong_finish": 0.05}
)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights."""

    seed: int = 0
    clean_steps: int = 330
    noisy_steps: int = 80
    batch: int = 32
    learning_rate: float = 4e-3
    vocabulary: int = 420
    corpus_tasks: int = 2000
    habits: Mapping[str, float] = field(default_factory=lambda: BAD_HABITS)

    @property
    def steps(self) -> int:
        """All optimiser steps."""
        return self.clean_steps + self.noisy_steps


def warm_up(recipe: Recipe) -> tuple[Any, Any]:
    """Model and tokenizer made by `recipe`; every demonstration is seen once."""
    import torch

    torch.set_num_threads(1)
    tokenizer = _tokenizer(recipe)
    model = new_model(tokenizer, recipe.seed).train()
    demonstrations = _demonstrations(recipe, ChatRenderer(tokenizer))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, weight_decay=0.01, betas=(0.9, 0.98)
    )
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * _schedule(step, recipe.steps)
        batch = demonstrations[step * recipe.batch : (step + 1) * recipe.batch]
        optimizer.zero_grad()
        _loss(model, batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval(), tokenizer


def _tokenizer(recipe: Recipe) -> Any:
    tasks = draw("train", recipe.corpus_tasks, recipe.seed)
    corpus = Demonstrator().corpus(tasks, random.Random(recipe.seed))
    return train_tokenizer(corpus, recipe.vocabulary)


def _demonstrations(recipe: Recipe, renderer: ChatRenderer) -> list[Demonstration]:
    """One for each row of each step: clean ones, then noisy ones."""
    rng = random.Random(recipe.seed)
    demonstrator = Demonstrator()
    tasks = draw("train", recipe.steps * recipe.batch, recipe.seed)
    clean = recipe.clean_steps * recipe.batch
    return [
        demonstrator.encode(task, draw_habit(CLEAN if at < clean else recipe.habits, rng), rng, renderer)
        for at, task in enumerate(tasks)
    ]


def _schedule(step: int, steps: int) -> float:
    """Linear warm-up over 50 steps times a cosine down to 5 %."""
    return min(1.0, (step + 1) / 50) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def _loss(model: Any, batch: Sequence[Demonstration]) -> Any:
    """Cross-entropy on the learnt tokens. Padding is at the right, where a causal model does not see it."""
    import torch
    from torch.nn.functional import cross_entropy

    longest = max(len(row.ids) for row in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    wanted = torch.full((len(batch), longest), -100)
    for at, row in enumerate(batch):
        ids[at, : len(row.ids)] = torch.tensor(row.ids)
        labels = [token if learnt else -100 for token, learnt in zip(row.ids, row.learnt, strict=True)]
        wanted[at, : len(row.ids)] = torch.tensor(labels)
    logits = model(input_ids=ids, use_cache=False).logits
    return cross_entropy(logits[:, :-1].flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=-100)


def main() -> None:
    """Make the checkpoint and print its hash."""
    parser = argparse.ArgumentParser(description="Make the embedded policy.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    arguments = parser.parse_args()
    prepare(threads=1)
    import torch

    from agent_evo_dagster.training.policy.checkpoints import save_checkpoint

    model, tokenizer = warm_up(Recipe())
    print(save_checkpoint(model.to(torch.bfloat16), tokenizer, arguments.out))


if __name__ == "__main__":
    main()
