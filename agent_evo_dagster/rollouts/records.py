"""Attempts kept by the hash of what was tried: a round that is killed or made again tries none twice."""

from pathlib import Path

from pydantic import ValidationError

from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rollouts.types import Attempt


def find(folder: Path | None, request: str) -> Attempt | None:
    """What came of the attempt with the hash `request`; `folder` is None where nothing is kept.

    Raises:
        TaskError: its file is there and cannot be read.
    """
    if folder is None:
        return None
    path = folder / f"{request}.json"
    try:
        return Attempt.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise TaskError(
            f"The recorded rollout {path} cannot be read ({type(error).__name__}). Delete it to run it again."
        ) from error


def keep(folder: Path | None, request: str, attempt: Attempt) -> None:
    """Keep what came of an attempt."""
    if folder is not None:
        text = attempt.model_dump_json(indent=2) + "\n"
        write_atomic(folder / f"{request}.json", text.encode(), mode=0o600)
