"""The format of OpenAI's messages: `{"tool_calls": [{"type": "function", "function": {...}}]}` as text.

Arguments are JSON in a string, as that interface has them.
"""

import json
import re
from collections.abc import Collection, Sequence

from agent_evo_dagster.training.tool_calls.json_calls import CutError, JsonReader, checked
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, JsonValue, ParsedTurn, ToolCall

_OBJECT = re.compile(r'\{\s*"(?:tool_calls|function|type|id|index|name)"\s*:')
_FOREIGN = re.compile(r"<tool_call>|<function=|<\|python_tag\|>|\[TOOL_CALLS\]")


class OpenAiFormat:
    """Calls as the JSON objects of an assistant message."""

    def __init__(self) -> None:
        self._reader = JsonReader()

    def render(self, call: ToolCall) -> str:
        """Text of a message with this one call."""
        function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
        return json.dumps({"tool_calls": [{"type": "function", "function": function}]}, ensure_ascii=False)

    def parse(self, text: str, tools: Collection[str]) -> ParsedTurn:
        """Read the calls in `text`; whatever is not a good call becomes a diagnostic."""
        if foreign := _FOREIGN.search(text):
            message = "Error: write the calls as a JSON object with tool_calls"
            return ParsedTurn((Diagnostic(Fault.FOREIGN_FORMAT, message),), ((foreign.start(), len(text)),))
        items: list[ToolCall | Diagnostic] = []
        spans: list[tuple[int, int]] = []
        recovered: list[Fault] = []
        at = 0
        while found := _OBJECT.search(text, at):
            read, at = self._object(text, found.start(), found.group())
            for each in read:
                item, loose = self._call(each, tools)
                items.append(item)
                spans.append((found.start(), at))
                recovered += [Fault.LOOSE] * (loose and isinstance(item, ToolCall))
        return ParsedTurn(tuple(items), tuple(spans), tuple(recovered))

    def _object(self, text: str, at: int, opening: str) -> tuple[Sequence[JsonValue | Diagnostic], int]:
        """The calls of the object that begins at `at`, not yet checked, and where reading goes on."""
        try:
            body, end = self._reader.value(text, at)
        except ValueError as error:
            again = text.find(opening, at + 1)  # objects within the broken one are no calls of their own
            end = len(text) if again < 0 else again
            if isinstance(error, CutError) or again >= 0:
                return [Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed")], end
            return [Diagnostic(Fault.MALFORMED, "Error: the tool call is not valid JSON")], end
        assert isinstance(body, dict)  # it begins with a brace
        if "tool_calls" not in body:
            return [body], end
        calls = body["tool_calls"]
        if not isinstance(calls, list) or not calls:
            return [Diagnostic(Fault.MALFORMED, "Error: tool_calls must be a list of calls")], end
        return calls, end

    def _call(
        self, body: JsonValue | Diagnostic, tools: Collection[str]
    ) -> tuple[ToolCall | Diagnostic, bool]:
        """The call in one entry, and whether its arguments were written without their quotes."""
        if isinstance(body, Diagnostic):
            return body, False
        function = body.get("function", body) if isinstance(body, dict) else None
        if not isinstance(function, dict):
            return Diagnostic(Fault.MALFORMED, "Error: a tool call needs a function"), False
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            return checked(function, tools, "arguments"), True
        try:
            decoded, end = self._reader.value(arguments, len(arguments) - len(arguments.lstrip()))
        except ValueError:
            return Diagnostic(Fault.MALFORMED, "Error: the arguments are not valid JSON"), False
        if arguments[end:].strip():
            return Diagnostic(Fault.MALFORMED, "Error: the arguments are not valid JSON"), False
        return checked({**function, "arguments": decoded}, tools, "arguments"), False
