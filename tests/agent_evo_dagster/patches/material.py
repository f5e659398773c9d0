"""A skill's sections, and the names and hints that the tests of patches share."""

import json
from datetime import UTC, datetime
from itertools import count, islice

import polars as pl

from agent_evo_dagster.evaluation.splits import split_of
from agent_evo_dagster.patches.document import patch_id, section_hash
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.training.types import EVALUATION_SCHEMA

OPENED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

OPTIMISATION = """## Optimisation

Change one value at a time. The default: line below is read by the trainer.

```yaml
# agent-evo:settings
learning_rate: {default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "step size"}
max_steps: {default: 10, min: 2, max: 200, why: "optimiser steps"}
beta: {default: 0.0, min: 0.0, max: 0.2, why: "weight of the KL term"}
max_grad_norm: {default: 10, min: 0.1, max: 10, why: "clipping"}
```
"""

ROLLOUTS = """## Rollouts

```yaml
# agent-evo:settings
temperature: {default: 1.0, min: 0.3, max: 1.5, why: "sampling"}
num_generations: {default: 8, min: 2, max: 64, why: "group"}
```
"""

SECTIONS = {("rllm-config", "optimisation"): OPTIMISATION, ("rllm-config", "rollouts"): ROLLOUTS}
GROUPS = {"rllm-config": "rllm"}


def hint(setting: str, direction: str = "raise", factor: float = 5.0, why: str = "flat reward") -> str:
    return json.dumps({"setting": setting, "direction": direction, "factor": factor, "why": why})


def judge_tasks(number: int) -> list[str]:
    names = (f"problem-{index}" for index in count())
    return list(islice((name for name in names if split_of(name) == "judge"), number))


def rollouts(baseline, candidate, *, seeds=(0, 1), samples=4, tasks=None) -> pl.DataFrame:
    """Paired rollouts: both sides give each task's share of right ones, the same for every seed."""
    names = tasks or judge_tasks(len(baseline))
    rows = [
        (policy, seed, "sampled", task, sample, reward, reward >= 0.5, "stop", 1, 10)
        for policy, shares in (("baseline", baseline), ("candidate", candidate))
        for seed in seeds
        for task, share in zip(names, shares, strict=True)
        for sample in range(samples)
        for reward in [float(sample < round(share * samples))]
    ]
    return pl.DataFrame(rows, schema=EVALUATION_SCHEMA, orient="row")


def a_patch(body: str = "text\n", base: str = OPTIMISATION) -> Patch:
    """Some patch, which puts `body` in the place of `base`."""
    base_hash = section_hash(base)
    fields = {"skill": "rllm-config", "section": "optimisation", "action": "replace"}
    return Patch(
        id=patch_id(**fields, base_hash=base_hash, body=body),
        group="rllm",
        skill="rllm-config",
        target_section="optimisation",
        action="replace",
        description="some patch",
        base_hash=base_hash,
        source_round="round-0001",
        created=OPENED,
        body=body,
    )
