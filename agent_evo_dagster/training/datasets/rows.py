"""Rows of files: JSONL, Parquet, and folders of Hugging Face datasets. What a row means is in transforms."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training.tool_calls.types import JsonValue

Row = Mapping[str, JsonValue]


def read_rows(path: Path) -> list[Row]:
    """All rows of a JSONL or Parquet file.

    Raises:
        TrainingError: there is no such file, it is of another kind, or a line is not an object.
    """
    if not path.is_file():
        raise TrainingError(f"dataset_path = {str(path)!r}: there is no such file.")
    if path.suffix in (".jsonl", ".ndjson"):
        return list(_lines(path))
    if path.suffix == ".parquet":
        return _parquet(path)
    raise TrainingError(f"dataset_path = {str(path)!r}: a .jsonl or .parquet file was expected.")


def read_hf_folder(folder: Path) -> list[Row]:
    """All rows that `datasets.save_to_disk` left in a folder, of all its splits: ours go by task.

    Raises:
        TrainingError: the folder holds no datasets.
        MissingExtraError: datasets is not installed.
    """
    require("datasets", extra="hf", feature="a data set of Hugging Face datasets")
    from datasets import DatasetDict, load_from_disk

    try:
        found = load_from_disk(str(folder))
    except (FileNotFoundError, ValueError) as error:
        raise TrainingError(f"dataset_path = {str(folder)!r} holds no saved datasets ({error}).") from error
    parts = found.values() if isinstance(found, DatasetDict) else [found]
    return [dict(row) for part in parts for row in part]


def _parquet(path: Path) -> list[Row]:
    try:
        frame = pl.read_parquet(path, memory_map=False)
    except (pl.exceptions.ComputeError, OSError) as error:
        raise TrainingError(f"{path} cannot be read as Parquet ({error}).") from error
    return [dict(row) for row in frame.iter_rows(named=True)]


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise TrainingError(f"{path}, line {number} is not JSON ({error}).") from error
            if not isinstance(row, dict):
                raise TrainingError(f"{path}, line {number} is not a JSON object.")
            yield row
