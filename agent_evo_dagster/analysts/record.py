"""Answers kept by the hash of their question: a round made again is not asked again. No keys, no clock."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from agent_evo_dagster.analysts.forms import A, Form
from agent_evo_dagster.analysts.protocol import Model
from agent_evo_dagster.analysts.types import Asked, Usage
from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.files import write_atomic


class Ended(BaseModel):
    """That the budget ended before all was answered, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ended: str


class Recorded(BaseModel):
    """An answer that was used, and what it took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    analyst: str
    model: str | None
    told: str | None = None
    answer: JsonValue
    repaired: bool
    calls: int
    tokens: int
    cost_usd: float | None


def find(folder: Path, request: str, form: Form[A]) -> Asked[A] | None:
    """The answer that was given to the question with the hash `request`.

    Raises:
        AnalystError: its file is there and cannot be read.
    """
    path = _path(folder, request)
    known = _read(path, Recorded)
    if known is None:
        return None
    try:
        answer = form.answer.model_validate_json(TypeAdapter(JsonValue).dump_json(known.answer))
    except ValidationError as error:
        raise _unreadable(path, error) from error
    usage = Usage(known.calls, known.tokens, known.cost_usd)
    return Asked(answer, known.repaired, known.told, usage)


def keep(folder: Path, request: str, model: Model, asked: Asked[A]) -> None:
    """Keep an answer for the next time that the same is asked."""
    recorded = Recorded(
        analyst=model.analyst,
        model=model.model,
        told=asked.told,
        answer=asked.answer.model_dump(mode="json"),
        repaired=asked.repaired,
        calls=asked.usage.calls,
        tokens=asked.usage.tokens,
        cost_usd=asked.usage.cost_usd,
    )
    _write(_path(folder, request), recorded)


def forget(folder: Path, request: str) -> None:
    """Let a question be asked again."""
    _path(folder, request).unlink(missing_ok=True)


def find_end(folder: Path, request: str) -> str | None:
    """How the questions with the hash `request` ended before all were answered; None where they did not.

    Raises:
        AnalystError: its file is there and cannot be read.
    """
    known = _read(_path(folder, request), Ended)
    return None if known is None else known.ended


def keep_end(folder: Path, request: str, reason: str) -> None:
    """Keep an end, so that the same is not tried again with the same budget."""
    _write(_path(folder, request), Ended(ended=reason))


_R = TypeVar("_R", Ended, Recorded)


def _path(folder: Path, request: str) -> Path:
    return folder / f"{request}.json"


def _read(path: Path, kind: type[_R]) -> _R | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise _unreadable(path, error) from error


def _write(path: Path, content: BaseModel) -> None:
    write_atomic(path, content.model_dump_json(indent=2).encode() + b"\n", mode=0o600)


def _unreadable(path: Path, error: Exception) -> AnalystError:
    return AnalystError(
        f"The recorded answer {path} cannot be read ({type(error).__name__}). Delete it to ask again."
    )
