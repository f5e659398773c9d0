"""One trajectory as a segmenter sees it: its steps in order. No rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import msgspec
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
_FILE: Final = rf"[\w.-]*[\w-]\.(?:{'|'.join(_ENDINGS.split())})"
_WORD: Final = rf"{_FILE}\b|[\w.-]*\d{{4}}[\w.-]*"
# The same for words that are ASCII throughout: its matcher is seven times as fast.
_ASCII_WORD: Final = _WORD.replace(r"\w", "A-Za-z0-9_").replace(r"\d", "[0-9]").replace(r"\b", r"(?-u:\b)")
# Tools whose response tells what later steps refer to; those of others are never looked at.
_TOOLS_WITH_RESPONSE: Final = ("CronCreate", "Monitor", "Skill", "TaskCreate", "TaskOutput")
_OF_BASH: Final = pl.when(pl.col("tool_name") == "Bash").then("tool_response")
_TELLING_RESPONSE: Final = pl.col("tool_name").is_in(_TOOLS_WITH_RESPONSE) | _OF_BASH.str.contains(
    '"backgroundTaskId"', literal=True
)


class Asked(msgspec.Struct):
    """What calls are most often asked about, by its own names; of any type, None where it is not there."""

    command: Any = None
    args: Any = None
    file_path: Any = None
    notebook_path: Any = None
    path: Any = None
    task_id: Any = None
    taskId: Any = None
    shell_id: Any = None
    bash_id: Any = None
    id: Any = None


_NOTHING: Final = Asked()
_ASKED: Final = msgspec.json.Decoder(Asked)


@dataclass(frozen=True, slots=True)
class TrajectoryView:
    """The steps of one agent in one session; a position in the lists names a step."""

    place: int  # of its first step, in the frame that the view is of
    trajectory_id: str
    session_id: str
    layer: str
    agent_id: str | None
    step_id: list[str]
    kind: list[str]
    mark: list[str]
    prompt_id: list[str | None]
    tool_name: list[str | None]
    tool_input: list[bytes | None]  # JSON text
    tool_response: list[str | None]  # JSON text; of tools whose response later steps refer to
    outcome: list[str | None]
    text: list[str | None]
    asked: list[Asked]  # `tool_input`, as far as it is read for every call
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


_OWNERS: Final = ("trajectory_id", "session_id", "layer", "agent_id")
_TEXTS: Final = ("step_id", "kind", "mark", "prompt_id", "tool_name", "tool_response", "outcome", "text")


def in_order(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps, session by session, the main agent first.

    Raises:
        SegmentError: a column of STEP_SCHEMA is missing.
    """
    missing = [name for name in STEP_SCHEMA.names() if name not in steps.columns]
    if missing:
        raise SegmentError(
            f"Segments are built from frames of STEP_SCHEMA; this one lacks {', '.join(missing)}. "
            "Build the steps with agent_evo_dagster.trajectories.build."
        )
    return (
        steps.lazy()
        .sort("session_id", "agent_id", "trajectory_id", "index", maintain_order=True)
        .with_columns(pl.when(_TELLING_RESPONSE).then("tool_response").alias("tool_response"))
        .collect()
    )


def read_views(steps: pl.DataFrame) -> Iterator[TrajectoryView]:
    """The trajectories in `steps`, which are in order."""
    columns: dict[str, list[Any]] = {name: steps.get_column(name).to_list() for name in _TEXTS}
    columns["tool_input"] = steps.get_column("tool_input").cast(pl.Binary).to_list()
    columns["asked"] = [_asked(text) for text in columns["tool_input"]]
    columns["command"] = list(map(_command, columns["tool_name"], columns["asked"]))
    columns["words"] = _words(columns["command"])
    owners = steps.select(_OWNERS).rows()
    for _, group in groupby(range(len(owners)), key=lambda row: owners[row][0]):
        rows = list(group)
        start, stop = rows[0], rows[-1] + 1
        lists: dict[str, Any] = {name: values[start:stop] for name, values in columns.items()}
        yield TrajectoryView(start, *owners[start], **lists)


def _asked(text: bytes | None) -> Asked:
    try:
        return _NOTHING if text is None else _ASKED.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return _NOTHING


def _command(tool: str | None, asked: Asked) -> str | None:
    if tool not in ("Bash", "Skill"):
        return None
    text = asked.command if asked.command is not None else asked.args
    return text[:_MAX_COMMAND] if isinstance(text, str) else None


def _words(commands: list[str | None]) -> list[list[str] | None]:
    """Names of files, and words with a run of digits, in each command."""
    parts = [(None, None) if text is None else _by_alphabet(text) for text in commands]
    ascii_only, others = zip(*parts, strict=True) if parts else ((), ())
    found = pl.select(
        pl.concat_list(
            pl.Series(ascii_only, dtype=pl.String).str.extract_all(_ASCII_WORD),
            pl.Series(others, dtype=pl.String).str.extract_all(_WORD),
        )
    )
    words: list[list[str] | None] = found.to_series().to_list()
    return words


def _by_alphabet(text: str) -> tuple[str, str]:
    """The words that are ASCII throughout, and the others."""
    if text.isascii():
        return text, ""
    words = text.split()
    return " ".join(filter(str.isascii, words)), " ".join(word for word in words if not word.isascii())
