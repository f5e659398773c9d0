"""JSON as models write it: a reader with bounds, and what a decoded body lacks to be a call. No tags here."""

import json
import re
from collections.abc import Collection
from typing import NoReturn

from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, JsonValue, ToolCall

# A call without the tags that belong around it: what it was meant as is plain.
BARE_CALL = re.compile(r'\{\s*"(?:name|tool_calls|function)"\s*:')


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class CutError(ValueError):
    """The text ends in the middle of a value."""


class JsonReader:
    """Reads one JSON value within a text. NaN and infinity are not JSON; nesting has the decoder's bound."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant)

    def value(self, text: str, at: int) -> tuple[JsonValue, int]:
        """The value that begins at `at`, and where it ends.

        Raises:
            CutError: the text ends before the value does.
            ValueError: there is no value.
        """
        try:
            return self._decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                raise CutError(error.msg) from error
            raise
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def checked(body: JsonValue, tools: Collection[str], key: str) -> ToolCall | Diagnostic:
    """The call in a decoded body whose arguments stand under `key`, or what it lacks."""
    if not isinstance(body, dict) or not isinstance(body.get("name"), str) or key not in body:
        return Diagnostic(Fault.MALFORMED, f"Error: a tool call needs name and {key}")
    name, arguments = body["name"], body[key]
    if name not in tools:
        return Diagnostic(Fault.UNKNOWN_TOOL, "Error: no such tool")
    if not isinstance(arguments, dict):
        return Diagnostic(Fault.ARGUMENTS_NOT_OBJECT, f"Error: {key} must be an object")
    assert isinstance(name, str)
    return ToolCall(name, arguments)
