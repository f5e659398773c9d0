"""The sign of life that a worker leaves in its run folder, as it is read. Deadlines are the launcher's."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_evo_dagster.errors import WorkerError

HEARTBEAT_FILE = "heartbeat.json"


class Heartbeat(BaseModel):
    """Rewritten atomically at each phase and while a phase goes on."""

    model_config = ConfigDict(frozen=True)

    at: float  # epoch seconds on the worker's clock: for people, since readers judge by a clock of their own
    phase: str
    step: int


def read_heartbeat(run_dir: Path) -> Heartbeat | None:
    """The last heartbeat, or none before the first.

    Raises:
        WorkerError: the file is there and is no heartbeat.
    """
    path = run_dir / HEARTBEAT_FILE
    try:
        return Heartbeat.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise WorkerError(
            f"{path} is not a heartbeat: {error}. The worker must write it atomically."
        ) from error
