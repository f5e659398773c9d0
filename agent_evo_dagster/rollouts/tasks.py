"""The tasks that the two texts of a skill are tried on: files that people write. Nothing is run here.

They lie in `<bank>/tasks/<skill>/<id>.yaml`. The split of a task is told by its id, as that of any other;
those of the split `judge` are the gate's, and no other is run.
"""

import json
import re
import unicodedata
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.evaluation.splits import require_split, split_of
from agent_evo_dagster.files import create_atomic, sha256_bytes
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.patches.types import NAME_PATTERN
from agent_evo_dagster.strict_yaml import read_mapping

FOLDER: Final = "tasks"
SUFFIX: Final = ".yaml"
MAX_ID: Final = 80  # characters
# What the client would read as its own, and what tells it of a project.
_OF_THE_CLIENT: Final = frozenset(
    {".claude", ".git", ".agent_evo", "claude.md", "claude.local.md", ".mcp.json"}
)
_LONGEST_PART: Final = 255  # bytes, on any file system
_TOOL: Final = re.compile(r"[A-Za-z][\w-]*")


def bare(line: str) -> str:
    """A line without marks of emphasis and quotes around it, and with single spaces."""
    return " ".join(line.strip(" \t\r*_`\"'").split())


def _safe(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path != "/".join(parts) or ".." in parts or parts[0] == "/" or "\\" in path:
        raise ValueError(f"{path!r} is no relative path such as src/main.py")
    if any(part.lower() in _OF_THE_CLIENT for part in parts) or any(map(first_hidden, parts)):
        raise ValueError(f"{path!r} cannot be a file of a task")
    if any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise ValueError(f"{path!r} has a part of more than {_LONGEST_PART} bytes")
    return path


def _apart(files: dict[str, str]) -> dict[str, str]:
    """Files that can lie side by side, also where cases of letters are not told apart.

    Raises:
        ValueError: one is the same as another, or as a folder on the way to another.
    """
    places = {_place(PurePosixPath(path)): path for path in files}
    for path in files:
        for place in (PurePosixPath(path), *PurePosixPath(path).parents):
            other = places.get(_place(place), path)
            if other != path:
                raise ValueError(f"{path!r} and {other!r} cannot both be there")
    return files


def _place(path: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()


def _seen(line: str) -> str:
    if found := first_hidden(line):
        raise ValueError(f"a character in it cannot be seen ({found})")
    return line


def _telling(answer: str) -> str:
    if not bare(answer):
        raise ValueError(f"{answer!r} is nothing but marks of emphasis")
    return answer


def _one_permission(line: str) -> str:
    """A permission that stays one where it is given to the client among others.

    Raises:
        ValueError: it does not.
    """
    name, opened, inner = line.partition("(")
    depths = list(accumulate((one == "(") - (one == ")") for one in opened + inner))
    # What is opened first closes at the end and not before, and holds something.
    whole = not opened or (len(depths) > 2 and 0 in depths and depths.index(0) == len(depths) - 1)
    if "," in line or not whole or not _TOOL.fullmatch(name):
        raise ValueError(f"{line!r} is no single permission such as Bash(python3 *), without commas")
    return line


def _runnable(command: str) -> str:
    if "\0" in command:
        raise ValueError("it holds a character of value 0, which no command can")
    return command


Files = Annotated[
    dict[Annotated[str, StringConstraints(max_length=200), AfterValidator(_safe)], str],
    AfterValidator(_apart),
]
Line = Annotated[
    str,
    StringConstraints(min_length=1, max_length=300, pattern=r"^\S(.*\S)?$"),
    AfterValidator(_seen),
]
Command = Annotated[str, StringConstraints(min_length=1, max_length=4000), AfterValidator(_runnable)]
Permission = Annotated[Line, AfterValidator(_one_permission)]
Answer = Annotated[Line, AfterValidator(_telling)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Check(_Strict):
    """A command that tells whether a task was done, run where it was worked on."""

    command: Command = Field(
        description="For /bin/sh, with the working folder as it was left, and none of your keys."
    )
    seconds: float = Field(30.0, gt=0, le=600, description="After which it counts as not done.")
    exit: int = Field(0, ge=0, le=255, description="The exit status of a task that was done.")
    files: Files = Field({}, description="Put there before it runs, over what was left.")


class Limits(_Strict):
    """The most that one rollout may take, on both sides alike."""

    turns: int = Field(30, ge=1, le=1000)
    seconds: float = Field(600.0, gt=0, le=7200)
    money: float = Field(1.0, gt=0, le=1000, description="US dollars.")


class Task(_Strict):
    """One task: a prompt, and either a check of what was left or the expected answer."""

    id: Annotated[str, StringConstraints(max_length=MAX_ID, pattern=f"^{NAME_PATTERN}$")]
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    files: Files = Field({}, description="What lies in the working folder, by path.")
    allow: tuple[Permission, ...] = Field(
        (), strict=False, description="Permissions, such as Bash(python3 *)."
    )
    check: Check | None = None
    answer: Answer | None = Field(None, description="What the last line of the answer must be.")
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _one_way_to_tell(self) -> Self:
        if (self.check is None) == (self.answer is None):
            raise ValueError("give either check or answer")
        if self.check is not None:
            _apart({**self.files, **self.check.files})
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """What it says that a skill has no reason to say."""
        check = () if self.check is None else (self.check.command, *self.check.files.values())
        return (self.prompt, *self.files.values(), *check, self.answer or "")

    def as_json(self) -> str:
        """All of it, on one line."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)


def read_task(path: Path) -> Task:
    """The task of a file, which is named after its id.

    Raises:
        TaskError: it cannot be read, or is no task.
    """
    data = read_mapping(path, error=TaskError)
    try:
        task = Task.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[:5]
        said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'task'}: {one['msg']}" for one in details)
        raise TaskError(f"{path} is no task ({said}). docs/gate.md shows one.") from error
    if path.name != f"{task.id}{SUFFIX}":
        raise TaskError(f"{path} holds the task {task.id!r}. Name the file {task.id}{SUFFIX}.")
    return task


def read_tasks(folder: Path, skill: str) -> list[Task]:
    """All tasks for a skill in a bank's folder of tasks, by id; none where there is no such folder.

    Raises:
        TaskError: one of them cannot be used, so none is.
    """
    return [read_task(path) for path in sorted((folder / skill).glob(f"*{SUFFIX}"))]


def of_the_judge(tasks: list[Task]) -> list[Task]:
    """Those that the gate may use."""
    return [task for task in tasks if split_of(task.id) == "judge"]


def frozen(tasks: list[Task], path: Path) -> list[Task]:
    """The tasks that `path` keeps; the first time, the given ones: a round made again tries the same.

    Raises:
        TaskError: the file cannot be read.
        EvaluationError: a task of another split.
    """
    require_split((task.id for task in tasks), "judge")
    create_atomic(path, "".join(f"{task.as_json()}\n" for task in tasks).encode())
    try:
        kept = [Task.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise TaskError(
            f"{path}, which keeps the tasks of a round, cannot be read ({type(error).__name__}). Delete it."
        ) from error
    require_split((task.id for task in kept), "judge")
    return kept


def hash_of(tasks: list[Task]) -> str:
    """Hex SHA-256 of all that the tasks say."""
    return sha256_bytes("\n".join(task.as_json() for task in tasks).encode())
