"""The form that an answer must have: its JSON schema, and answers read against it. No form of its own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

MAX_ANSWER = 200_000  # characters that are read
_PROBLEMS = 6
# What services that compile a schema into a grammar refuse; the bounds are checked here instead.
_UNSUPPORTED = ("maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "title", "default")


class StrictAnswer(BaseModel):
    """A part of an answer: what is there is of the type that is asked for, and nothing else is there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


A = TypeVar("A", bound=StrictAnswer)


def _nothing_more(_: object) -> None:
    return None


@dataclass(frozen=True)
class Form(Generic[A]):
    """What is asked for; `check` says what no schema can, or None where nothing is wrong."""

    name: str
    answer: type[A]
    check: Callable[[A], str | None] = _nothing_more

    def schema(self) -> dict[str, Any]:
        """The JSON schema, in the part of the language that all services understand."""
        schema: dict[str, Any] = json.loads(_schema_text(self.answer))
        return schema

    def read(self, text: str) -> A | str:
        """The answer in `text`, or in words what is wrong with it."""
        if len(text) > MAX_ANSWER:
            return f"it has {len(text)} characters; the most is {MAX_ANSWER}"
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            return f"it is not JSON: {str(error)[:200]}"
        try:
            answer = self.answer.model_validate_json(text)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)[:_PROBLEMS]
            return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in details)
        return self.check(answer) or answer


@lru_cache
def _schema_text(answer: type[StrictAnswer]) -> str:
    return json.dumps(_plain(answer.model_json_schema()))


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {name: _plain(value) for name, value in node.items() if name not in _UNSUPPORTED}
    if isinstance(found.get("properties"), dict):
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found
