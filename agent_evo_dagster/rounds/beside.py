"""Small records of a round that stand beside its manifest, one JSON file each. No content of theirs."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.files import write_atomic
from agent_evo_dagster.rounds.store import RoundStore

R = TypeVar("R", bound=BaseModel)


def keep(store: RoundStore, key: str, name: str, record: BaseModel) -> None:
    """Keep a record of the round under `name`, in the place of an earlier one."""
    data = record.model_dump_json(indent=2).encode() + b"\n"
    write_atomic(store.folder(key) / f"{name}.json", data)


def kept(store: RoundStore, key: str, name: str, form: type[R], *, what: str, without: str) -> R | None:
    """The record of the round; None where it has none, as rounds that were made before it was kept.

    `what` says what it tells, `without` what holds where it is not there, for the error's words.

    Raises:
        RoundError: it cannot be read.
    """
    path = store.folder(key) / f"{name}.json"
    if not path.is_file():
        return None
    try:
        return form.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RoundError(
            f"{what} cannot be read from {path} ({error.error_count()} errors). Delete it, and {without}."
        ) from error
