"""The data sets by name, opened as a configuration asks for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.datasets.arithmetic import GeneratedArithmetic
from agent_evo_dagster.training.datasets.filters import keep, standard_filters
from agent_evo_dagster.training.datasets.rows import read_hf_folder, read_rows
from agent_evo_dagster.training.datasets.table import TaskTable
from agent_evo_dagster.training.datasets.transforms import columns_of, task_of
from agent_evo_dagster.training.environments.types import TaskSource


@dataclass(frozen=True)
class Opened:
    """A data set with what became of its rows; generated ones have none."""

    source: TaskSource
    rows: int = 0
    dropped: Mapping[str, int] | None = None
    kept: Mapping[str, int] | None = None  # by split


def open_dataset(config: TrainingConfig) -> Opened:
    """The tasks that `config` names.

    Raises:
        TrainingError: the path is missing or superfluous, cannot be read, or no row is left.
    """
    if config.dataset == "arithmetic":
        if config.dataset_path:
            raise TrainingError(
                f"dataset_path = {config.dataset_path!r} was given; dataset = 'arithmetic' reads no file. "
                "Set dataset to file or hf_disk."
            )
        return Opened(GeneratedArithmetic())
    if not config.dataset_path:
        raise TrainingError(f"dataset = {config.dataset!r} needs dataset_path: where the tasks are.")
    path = Path(config.dataset_path)
    rows = read_rows(path) if config.dataset == "file" else read_hf_folder(path)
    if not rows:
        raise TrainingError(f"dataset_path = {config.dataset_path!r} holds no row.")
    columns = columns_of(rows[0], config.question_field, config.answer_field)
    filters = standard_filters(config.answer_type, config.max_question_characters)
    kept = keep((task_of(row, columns) for row in rows), filters)
    if not kept.tasks:
        raise TrainingError(
            f"None of {len(rows)} rows of {config.dataset_path!r} is left: {dict(kept.dropped)}."
        )
    table = TaskTable(kept.tasks, path.name)
    return Opened(table, len(rows), kept.dropped, table.sizes)
