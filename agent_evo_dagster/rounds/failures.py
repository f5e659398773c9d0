"""Steps of a round that failed and were not made since: one small file each, beside the round's manifest.

Whoever runs steps writes them and takes them away; how a round stands is told elsewhere.
"""

import re
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic

MOST_CHARACTERS: Final = 4000  # of a message; Dagster's log has the rest
_STEP = re.compile(r"[A-Za-z0-9_]{1,120}")


class StepFailure(BaseModel):
    """What went wrong in one step, the last time that it was tried."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    message: str
    at: AwareDatetime


def record_failure(folder: Path, failure: StepFailure) -> None:
    """Put it on record in the folder of its round, in the place of an earlier one of the same step.

    Raises:
        RoundError: the name of the step is none.
    """
    message = failure.message.strip() or "it gave no reason"
    if len(message) > MOST_CHARACTERS:
        message = f"{message[:MOST_CHARACTERS]} ..."
    kept = failure.model_copy(update={"message": message})
    write_atomic(_path(folder, failure.step), kept.model_dump_json(indent=2).encode() + b"\n")


def clear_failure(folder: Path, step: str) -> None:
    """The step was made: what went wrong before is over.

    Raises:
        RoundError: the name of the step is none.
    """
    _path(folder, step).unlink(missing_ok=True)


def failures_of(folder: Path) -> tuple[StepFailure, ...]:
    """The failures on record in the folder of a round, the first one first.

    Raises:
        RoundError: one of them cannot be read.
    """
    found = map(_read, sorted((folder / "failures").glob("*.json")))
    return tuple(sorted(filter(None, found), key=lambda failure: (failure.at, failure.step)))


def _read(path: Path) -> StepFailure | None:
    """One of them; none where it was taken away meanwhile."""
    try:
        found = StepFailure.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return None
        what = error.strerror if isinstance(error, OSError) else f"{error.error_count()} errors"
        raise _unreadable(path, str(what)) from error
    if path.name != f"{found.step}.json" or not _STEP.fullmatch(found.step):
        raise _unreadable(path, f"it is of the step {found.step!r}")
    return found


def _unreadable(path: Path, what: str) -> RoundError:
    return RoundError(
        f"The record of a failed step {path} cannot be read ({what}). Delete it, then run the round "
        f"again: agent-evo rounds run {path.parent.parent.name}"
    )


def _path(folder: Path, step: str) -> Path:
    if not _STEP.fullmatch(step):
        raise RoundError(f"{step!r} failed or was made, and it is not a name of letters, digits and '_'.")
    return folder / "failures" / f"{step}.json"
