"""Answers kept by the hash of their question: a round made again is not asked again. No keys, no clock."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from agent_evo_dagster.analysts.forms import A, Form
from agent_evo_dagster.analysts.protocol import Model
from agent_evo_dagster.analysts.types import Asked, Usage
from agent_evo_dagster.errors import AnalystError
from agent_evo_dagster.files import write_atomic


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
    path = folder / f"{request}.json"
    try:
        known = Recorded.model_validate_json(path.read_bytes())
        answer = form.answer.model_validate_json(TypeAdapter(JsonValue).dump_json(known.answer))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise AnalystError(
            f"The recorded answer {path} cannot be read ({type(error).__name__}). Delete it to ask again."
        ) from error
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
    text = recorded.model_dump_json(indent=2)
    write_atomic(folder / f"{request}.json", text.encode() + b"\n", mode=0o600)
