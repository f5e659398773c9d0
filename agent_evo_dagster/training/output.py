"""What a finished worker left, as frames. Not how it was made."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.types import EVALUATION_SCHEMA, ROLLOUT_SCHEMA

ROLLOUTS_FILE = "rollouts.parquet"
EVALUATION_FILE = "evaluation.parquet"
INPUTS_FILE = "inputs.json"

# What a run was made from beside its settings: files by their hash, and what became of the rows of its data.
INPUTS_SCHEMA = pl.Schema(
    {
        "what": pl.String,  # "sha256" | of the rows of data: "read", "dropped", "kept"
        "name": pl.String,  # the setting that names the file, the reason of dropping, the split
        "value": pl.String,
    }
)


class _Rows(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    read: int
    dropped: dict[str, int]
    kept: dict[str, int]


class _Inputs(BaseModel):
    """The file `inputs.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: dict[str, str] = Field({}, description="Of the file or folder that a setting names.")
    rows: _Rows | None = None


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


def read_inputs(run_dir: Path) -> pl.DataFrame:
    """What a training run read beside its settings (INPUTS_SCHEMA); no row where that is nothing.

    Raises:
        TrainingError: the file is of another form.
    """
    path = run_dir / INPUTS_FILE
    try:
        inputs = _Inputs.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        inputs = _Inputs()  # such a run has no file
    except ValidationError as error:
        raise TrainingError(f"{path} is not a list of inputs: {error}. Run it again.") from error
    return pl.DataFrame(list(_input_rows(inputs)), schema=INPUTS_SCHEMA, orient="row")


def _input_rows(inputs: _Inputs) -> Iterator[tuple[str, str, str]]:
    for setting, sha256 in inputs.sha256.items():
        yield "sha256", setting, sha256
    if inputs.rows is not None:
        yield "read", "rows", str(inputs.rows.read)
        for what, found in (("dropped", inputs.rows.dropped), ("kept", inputs.rows.kept)):
            for name, count in found.items():
                yield what, name, str(count)


def _read(path: Path, schema: pl.Schema) -> pl.DataFrame:
    if not path.is_file():
        raise TrainingError(f"{path} was asked for and does not exist: the run is not whole. Run it again.")
    frame = pl.read_parquet(path, memory_map=False)
    if frame.schema != schema:
        raise TrainingError(
            f"{path} has the columns {dict(frame.schema)}; expected {dict(schema)}. Run it again."
        )
    return frame
