"""Answers kept by the hash of their question: a round made again is not asked again. No keys, no clock."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.analysts.answer import Answer
from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.files import write_atomic


class Recorded(BaseModel):
    """An answer that was used, and what it took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    analyst: str
    model: str | None
    answer: Answer
    repaired: bool
    calls: int
    tokens: int
    cost_usd: float | None


def find(folder: Path, request: str) -> Recorded | None:
    """The answer that was given to the question with the hash `request`.

    Raises:
        AnalystError: its file is there and cannot be read.
    """
    path = folder / f"{request}.json"
    try:
        return Recorded.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise AnalystError(
            f"The recorded answer {path} cannot be read ({type(error).__name__}). Delete it to ask again."
        ) from error


def keep(folder: Path, request: str, recorded: Recorded) -> None:
    """Keep an answer for the next time that the same is asked."""
    write_atomic(folder / f"{request}.json", recorded.model_dump_json(indent=2).encode() + b"\n", mode=0o600)
