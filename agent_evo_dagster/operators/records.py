"""What operators did, kept by session until a round is given it: what was paid for is not paid for twice."""

from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.operators.types import OperatorRun


class Record(BaseModel):
    """A run, and the hash of what was asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: str
    run: OperatorRun


def keep(folder: Path, asked: str, run: OperatorRun) -> None:
    """Keep a run whose session is in the spool."""
    text = Record(asked=asked, run=run).model_dump_json(indent=2) + "\n"
    write_atomic(folder / f"{run.session_id}.json", text.encode())


def left_over(folder: Path, asked: str, taken: Collection[str]) -> OperatorRun | None:
    """A run of what is asked for that no round was given: whoever started it was ended before.

    Raises:
        ClientError: a record cannot be read.
    """
    for path in sorted(folder.glob("*.json")):
        try:
            record = Record.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise ClientError(
                f"The record {path} of an operator's run cannot be read ({type(error).__name__}). Delete it."
            ) from error
        if record.asked == asked and record.run.session_id not in taken:
            return record.run
    return None
