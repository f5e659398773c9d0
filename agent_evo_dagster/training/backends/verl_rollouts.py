"""What verl trained on and validated with, in the frames that all backends share."""

from collections.abc import Iterator

import polars as pl

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.backends.verl_overrides import VerlFiles
from agent_evo_dagster.training.backends.verl_rows import Dumped, Row, read_dumps, read_rows
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, ROLLOUT_SCHEMA

TOLERANCE = 1e-4  # verl sums rewards in fp32


def trained_rollouts(config: TrainingConfig, files: VerlFiles) -> pl.DataFrame:
    """Rows of ROLLOUT_SCHEMA: what verl lists as trained on, with the tokens that our agent loop kept.

    Raises:
        TrainingError: verl lists a rollout that nobody kept, or trained on another reward.
    """
    rows = read_rows(files.rows)
    groups: dict[str, int] = {}
    found = []
    for dumped in read_dumps(files.rollout_dumps):
        row = _kept(dumped, rows)
        group = groups.setdefault(row.key.rsplit("_", 2)[0], len(groups))
        found.append(_rollout(row, dumped.step, group, config.num_iterations))
    return pl.DataFrame(found, schema=ROLLOUT_SCHEMA)


def validations(config: TrainingConfig, files: VerlFiles) -> pl.DataFrame:
    """Rows of EVALUATION_SCHEMA, one policy for each validation: `step 5`, `step 10`, ...

    Raises:
        TrainingError: verl lists a rollout that nobody kept, or scored it otherwise.
    """
    rows = read_rows(files.rows)
    found = list(_validated(config, files, rows))
    return pl.DataFrame(found, schema=EVALUATION_SCHEMA)


def _validated(config: TrainingConfig, files: VerlFiles, rows: dict[str, Row]) -> Iterator[dict[str, object]]:
    for dumped in read_dumps(files.validation_dumps):
        row = _kept(dumped, rows)
        yield {
            "policy": f"step {dumped.step * config.num_iterations}",
            "seed": config.seed,
            "mode": "sampled",
            "task_id": row.task_id,
            "sample": int(row.key.rsplit("_", 2)[1]),
            "reward": row.reward,
            "correct": row.correct,
            "finish": row.finish,
            "turns": row.turns,
            "tokens": sum(row.response_mask),
        }


def _kept(dumped: Dumped, rows: dict[str, Row]) -> Row:
    row = rows.get(dumped.uid)
    if row is None:
        raise TrainingError(
            f"verl used the rollout {dumped.uid} in step {dumped.step}, and no row of it was kept. The run's "
            "folder must lie on a disk that all nodes share."
        )
    if abs(row.reward - dumped.score) > TOLERANCE:
        raise TrainingError(
            f"verl used the reward {dumped.score} for the rollout {dumped.uid}; its environment gave "
            f"{row.reward}. Is another reward function configured?"
        )
    return row


def _rollout(row: Row, step: int, group: int, iterations: int) -> dict[str, object]:
    version = step - 1 if row.policy_version is None else row.policy_version
    fields = row.model_dump(exclude={"key", "split", "components", "step", "policy_version"})
    first = (step - 1) * iterations + 1  # the optimiser step that the batch feeds first
    return {**fields, "step": first, "group": group, "policy_version": version * iterations}


def batch_metrics(rollouts: pl.DataFrame) -> dict[int, dict[str, float | None]]:
    """Per step, what verl does not log: spread of rewards within groups, and groups without any."""
    deviations = rollouts.group_by("step", "group").agg(pl.col("reward").std().alias("deviation"))
    found = deviations.group_by("step").agg(
        pl.col("deviation").mean().alias("reward_std"),
        (pl.col("deviation") == 0).mean().alias("frac_reward_zero_std"),
    )
    return {int(row.pop("step")): row for row in found.iter_rows(named=True)}
