"""One trajectory as a segmenter sees it: its steps in order. No rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import polars as pl

from agent_evo_dagster.errors import SegmentError
from agent_evo_dagster.trajectories.types import STEP_SCHEMA, Outcome, StepKind
from agent_evo_dagster.trajectories.values import parsed

_MAX_COMMAND: Final = 4_000  # characters of a command that are looked at
_ENDINGS: Final = (
    "arrow bin c cc cfg conf cpp css csv go h html ini ipynb java jinja js json jsonl jsx lock log md npz"
    " parquet pdf pkl png proto pt py pyi rb rs rst safetensors scala sh sql svg tex toml ts tsv tsx txt"
    " xml yaml yml"
)
_WORD: Final = rf"[\w.-]*[\w-]\.(?:{'|'.join(_ENDINGS.split())})\b|[\w.-]*\d{{4}}[\w.-]*"
# Tools whose response tells what later steps refer to; those of others are never looked at.
_TOOLS_WITH_RESPONSE = ("CronCreate", "Monitor", "Skill", "TaskCreate", "TaskOutput")
_TELLING_RESPONSE = pl.col("tool_name").is_in(_TOOLS_WITH_RESPONSE) | (
    (pl.col("tool_name") == "Bash") & pl.col("tool_response").str.contains('"backgroundTaskId"', literal=True)
)


@dataclass(frozen=True, slots=True)
class TrajectoryView:
    """The steps of one agent in one session; a position in the lists names a step."""

    trajectory_id: str
    session_id: str
    layer: str
    agent_id: str | None
    step_id: list[str]
    event_ids: list[list[str]]
    kind: list[str]
    mark: list[str]
    prompt_id: list[str | None]
    started_at: list[int]
    ended_at: list[int | None]
    tool_name: list[str | None]
    tool_input: list[str | None]
    tool_response: list[str | None]
    outcome: list[str | None]
    text: list[str | None]
    command: list[str | None]  # of Bash: the beginning of the command; of Skill: of its request
    words: list[list[str] | None]  # in `command`: names of files, and words with a run of digits
    inputs: dict[int, Any] = field(default_factory=dict)  # parsed once
    names: dict[int, frozenset[str]] = field(default_factory=dict)  # found once, by names

    def __len__(self) -> int:
        return len(self.step_id)

    def input_of(self, position: int) -> dict[str, Any]:
        """What a call was asked to do; empty where that is no object."""
        if position not in self.inputs:
            value = parsed(self.tool_input[position])
            self.inputs[position] = value if isinstance(value, dict) else {}
        found: dict[str, Any] = self.inputs[position]
        return found

    def response_of(self, position: int) -> dict[str, Any]:
        """What a call returned; empty where that is no object."""
        value = parsed(self.tool_response[position])
        return value if isinstance(value, dict) else {}

    def is_call(self, position: int) -> bool:
        """Whether the step is a call of a tool."""
        return self.kind[position] == StepKind.TOOL_CALL

    def succeeded(self, position: int) -> bool:
        """Whether the step is a call that ended well."""
        return self.outcome[position] == Outcome.SUCCESS


_OWNERS = ("trajectory_id", "session_id", "layer", "agent_id")
_COMMAND = pl.when(pl.col("tool_name").is_in(["Bash", "Skill"])).then(
    pl.coalesce(pl.col("tool_input").str.json_path_match(path) for path in ("$.command", "$.args"))
)
_LISTS = [
    name
    for name in TrajectoryView.__slots__
    if name in (*STEP_SCHEMA, "command", "words") and name not in _OWNERS
]


def read_views(steps: pl.DataFrame) -> Iterator[TrajectoryView]:
    """The trajectories in `steps`, session by session, the main agent first.

    Raises:
        SegmentError: a column of STEP_SCHEMA is missing.
    """
    missing = [name for name in STEP_SCHEMA.names() if name not in steps.columns]
    if missing:
        raise SegmentError(
            f"Segments are built from frames of STEP_SCHEMA; this one lacks {', '.join(missing)}. "
            "Build the steps with agent_evo_dagster.trajectories.build."
        )
    ordered = (
        steps.sort("session_id", "agent_id", "trajectory_id", "index", maintain_order=True)
        .with_columns(
            pl.col("started_at", "ended_at").cast(pl.Int64),
            pl.when(_TELLING_RESPONSE).then("tool_response").alias("tool_response"),
            _COMMAND.str.slice(0, _MAX_COMMAND).alias("command"),
        )
        .with_columns(words=pl.col("command").str.extract_all(_WORD))
    )
    columns = {name: ordered.get_column(name).to_list() for name in _LISTS}
    owners = ordered.select(_OWNERS).rows()
    for _, group in groupby(range(len(owners)), key=lambda row: owners[row][0]):
        rows = list(group)
        start, stop = rows[0], rows[-1] + 1
        lists: dict[str, Any] = {name: values[start:stop] for name, values in columns.items()}
        yield TrajectoryView(*owners[start], **lists)
