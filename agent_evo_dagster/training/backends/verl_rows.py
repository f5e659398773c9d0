"""One finished rollout as a line of JSON, token by token: written where it was made, read after the run.

verl's own dumps have text alone, and text is never encoded again.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import TrainingError


class Row(BaseModel):
    """A rollout under the key by which verl's dumps name it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    step: int  # as verl counts: of the batch that it was made for
    policy_version: int | None  # optimiser batches behind the weights, where the engine tells
    split: str
    task_id: str
    prompt: str
    answer: str
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    response_mask: tuple[int, ...]
    text: str
    reward: float
    correct: bool
    components: Mapping[str, float]
    finish: str
    turns: int
    tool_calls: int
    tool_errors: int


def append_row(folder: Path, row: Row) -> None:
    """Add `row` to this process's file in `folder`, in one write."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{socket.gethostname()}-{os.getpid()}.jsonl"
    with path.open("ab", buffering=0) as stream:
        stream.write(row.model_dump_json().encode() + b"\n")


def read_rows(folder: Path) -> dict[str, Row]:
    """All rows below `folder` by their key.

    Raises:
        TrainingError: a line is no row, or two rows have one key.
    """
    rows: dict[str, Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            try:
                row = Row.model_validate_json(line)
            except ValidationError as error:
                raise TrainingError(f"{path}, line {number} is no rollout ({error}).") from error
            if row.key in rows:
                raise TrainingError(f"{path}, line {number}: a second rollout with the key {row.key}.")
            rows[row.key] = row
    return rows


class Dumped(BaseModel):
    """A line of verl's dump of what it trained on or validated with; other fields are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    step: int
    score: float
    uid: str  # the row's key


def read_dumps(folder: Path) -> Iterator[Dumped]:
    """Lines of verl's dumps below `folder`, step by step, in verl's own order.

    Raises:
        TrainingError: a file is no dump.
    """
    paths = [path for path in folder.glob("*.jsonl") if path.stem.isdecimal()]
    for path in sorted(paths, key=lambda path: int(path.stem)):
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            try:
                yield Dumped.model_validate(json.loads(line))
            except (ValueError, ValidationError) as error:
                raise TrainingError(f"{path}, line {number} is no line of verl's dump ({error}).") from error
