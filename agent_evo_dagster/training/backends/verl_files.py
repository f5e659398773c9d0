"""The files that a verl run reads: tasks as Parquet, the agent loop, the configuration."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import yaml

from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.backends.verl_overrides import AGENT, VerlFiles, batches
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environments.types import Environment, Split, Task
from agent_evo_dagster.training.outcome import write_frame

LOOP_CLASS = "agent_evo_dagster.training.backends.verl_agent_loop.AgentEvoLoop"

# As verl's dataset wants it; it drops nothing and shuffles nothing, so that the order is the task stream's.
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "data_source": pl.String,
    "prompt": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "ability": pl.String,
    "reward_model": pl.Struct({"style": pl.String, "ground_truth": pl.String}),
    "extra_info": pl.Struct({"index": pl.Int64, "task_id": pl.String, "split": pl.String}),
    "agent_name": pl.String,
}
TASK_SCHEMA = pl.Schema(_COLUMNS)


def write_files(
    config: TrainingConfig, settings: VerlSettings, environment: Environment, files: VerlFiles
) -> None:
    """Write all of them below the run's folder."""
    files.root.mkdir(parents=True, exist_ok=True)
    train = environment.tasks("train", batches(config) * config.prompts_per_step, config.seed)
    held_out = environment.tasks("dev", settings.validation_tasks, config.seed)
    write_frame(task_frame(environment, train, "train", config), files.train)
    write_frame(task_frame(environment, held_out, "dev", config), files.validation)
    write_atomic(files.config, config.model_dump_json(indent=2).encode())
    write_atomic(files.agent_loop, agent_loop_document(files).encode())


def task_frame(
    environment: Environment, tasks: Sequence[Task], split: Split, config: TrainingConfig
) -> pl.DataFrame:
    """Rows of TASK_SCHEMA in the order of `tasks`."""
    return pl.DataFrame(list(_rows(environment, tasks, split, config)), schema=TASK_SCHEMA)


def _rows(
    environment: Environment, tasks: Sequence[Task], split: Split, config: TrainingConfig
) -> Iterator[dict[str, object]]:
    for index, task in enumerate(tasks):
        yield {
            "data_source": config.dataset,
            "prompt": environment.episode(task).opening(),
            "ability": config.dataset,
            "reward_model": {"style": "rule", "ground_truth": task.answer},
            "extra_info": {"index": index, "task_id": task.task_id, "split": split},
            "agent_name": AGENT,
        }


def agent_loop_document(files: VerlFiles) -> str:
    """Verl's list of agent loops: ours, with the paths that it needs."""
    paths: dict[str, Path] = {"config": files.config, "rows": files.rows}
    loop = {"name": AGENT, "_target_": LOOP_CLASS, **{name: str(path) for name, path in paths.items()}}
    return yaml.safe_dump([loop], sort_keys=False)
