"""The files that a verl run reads: tasks as Parquet, the agent loop, the configuration."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import yaml

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.training.backends.verl_overrides import AGENT, VerlFiles, batches
from agent_evo_dagster.training.backends.verl_settings import VerlSettings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.environments.types import Environment, Task
from agent_evo_dagster.training.outcome import write_frame
from agent_evo_dagster.training.rollout.render import ChatRenderer

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
    config: TrainingConfig,
    settings: VerlSettings,
    environment: Environment,
    renderer: ChatRenderer,
    files: VerlFiles,
) -> None:
    """Write all of them below the run's folder.

    Raises:
        TrainingError: a prompt is longer than verl has room for.
    """
    files.root.mkdir(parents=True, exist_ok=True)
    train = environment.tasks("train", batches(config) * config.prompts_per_step, config.seed)
    held_out = environment.tasks("dev", settings.validation_tasks, config.seed)
    for tasks, split, path in ((train, "train", files.train), (held_out, "dev", files.validation)):
        frame = task_frame(environment, tasks, split, config.dataset)
        _require_room(frame, environment, renderer, settings.max_prompt_length)
        write_frame(frame, path)
    write_atomic(files.config, config.model_dump_json(indent=2).encode())
    write_atomic(files.agent_loop, agent_loop_document(files).encode())


def task_frame(environment: Environment, tasks: Sequence[Task], split: str, name: str) -> pl.DataFrame:
    """Rows of TASK_SCHEMA in the order of `tasks`; `name` is of the data set."""
    rows = [
        {
            "data_source": name,
            "prompt": environment.episode(task).opening(),
            "ability": name,
            "reward_model": {"style": "rule", "ground_truth": task.answer},
            "extra_info": {"index": index, "task_id": task.task_id, "split": split},
            "agent_name": AGENT,
        }
        for index, task in enumerate(tasks)
    ]
    return pl.DataFrame(rows, schema=TASK_SCHEMA)


def _require_room(frame: pl.DataFrame, environment: Environment, renderer: ChatRenderer, most: int) -> None:
    for row in frame.unique("prompt", maintain_order=True).iter_rows(named=True):
        task_id = row["extra_info"]["task_id"]
        schemas = environment.episode(environment.task(task_id)).schemas
        length = len(renderer.prompt(row["prompt"], schemas))
        if length > most:
            raise TrainingError(
                f"The prompt of {task_id} has {length} tokens, and verl.max_prompt_length is {most}. Raise "
                "it, or lower max_question_characters."
            )


def agent_loop_document(files: VerlFiles) -> str:
    """Verl's list of agent loops: ours, with the paths that it needs."""
    paths: dict[str, Path] = {"config": files.config, "rows": files.rows}
    loop = {"name": AGENT, "_target_": LOOP_CLASS, **{name: str(path) for name, path in paths.items()}}
    return yaml.safe_dump([loop], sort_keys=False)
