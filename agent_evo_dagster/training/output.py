"""What a finished worker left, as frames. Not how it was made."""

from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, ROLLOUT_SCHEMA

ROLLOUTS_FILE = "rollouts.parquet"
EVALUATION_FILE = "evaluation.parquet"


def read_rollouts(run_dir: Path) -> pl.DataFrame:
    """The rollouts of a training run (ROLLOUT_SCHEMA).

    Raises:
        TrainingError: the file is missing or of another schema.
    """
    return _read(run_dir / ROLLOUTS_FILE, ROLLOUT_SCHEMA)


def read_evaluation(run_dir: Path) -> pl.DataFrame:
    """The scored rollouts of an evaluation or a probe (EVALUATION_SCHEMA).

    Raises:
        TrainingError: the file is missing or of another schema.
    """
    return _read(run_dir / EVALUATION_FILE, EVALUATION_SCHEMA)


def _read(path: Path, schema: pl.Schema) -> pl.DataFrame:
    if not path.is_file():
        raise TrainingError(f"{path} was asked for and does not exist: the run is not whole. Run it again.")
    frame = pl.read_parquet(path, memory_map=False)
    if frame.schema != schema:
        raise TrainingError(
            f"{path} has the columns {dict(frame.schema)}; expected {dict(schema)}. Run it again."
        )
    return frame
