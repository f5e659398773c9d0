"""The format of Llama 3: a turn that is `{"name": ..., "parameters": {...}}`, one or several of them."""

import json
import re
from collections.abc import Collection

from agent_evo_dagster.training.tool_calls.json_calls import CutError, JsonReader, checked
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, JsonValue, ParsedTurn, ToolCall

_CALL = re.compile(r'\{\s*"(?:name|parameters|arguments|type)"\s*:')
_FOREIGN = re.compile(r"<tool_call>|<function=|\[TOOL_CALLS\]")
_BETWEEN = re.compile(r"(?:<\|python_tag\|>|<\|eom_id\|>|[;\s])*")


class LlamaJsonFormat:
    """Calls as bare JSON objects, which begin the turn and are parted by semicolons."""

    def __init__(self) -> None:
        self._reader = JsonReader()

    def render(self, call: ToolCall) -> str:
        """Text of `call` as the models' own chat template writes it."""
        return json.dumps({"name": call.name, "parameters": call.arguments}, ensure_ascii=False)

    def parse(self, text: str, tools: Collection[str]) -> ParsedTurn:
        """Read the calls in `text`; whatever is not a good call becomes a diagnostic."""
        if foreign := _FOREIGN.search(text):
            fault = Diagnostic(Fault.FOREIGN_FORMAT, "Error: write the tool call as JSON alone")
            return ParsedTurn((fault,), ((foreign.start(), len(text)),))
        items: list[ToolCall | Diagnostic] = []
        spans: list[tuple[int, int]] = []
        recovered: list[Fault] = []
        at, loose = self._start(text)
        while at is not None:
            item, end, renamed = self._call(text, at, tools)
            items.append(item)
            spans.append((at, end))
            if isinstance(item, ToolCall) and (loose or renamed):
                recovered.append(Fault.LOOSE)
            at, loose = _following(text, end)
        return ParsedTurn(tuple(items), tuple(spans), tuple(recovered))

    @staticmethod
    def _start(text: str) -> tuple[int | None, bool]:
        """Where the first object begins: at the start of the turn, or loosely after words."""
        at = _skip(text, 0)
        return (at, False) if text.startswith("{", at) else _following(text, at)

    def _call(self, text: str, at: int, tools: Collection[str]) -> tuple[ToolCall | Diagnostic, int, bool]:
        """The call that begins at `at`, where reading goes on, and whether its arguments had another name."""
        try:
            body, end = self._reader.value(text, at)
        except ValueError as error:
            again = _CALL.search(text, at + 1)
            end = again.start() if again else len(text)
            if isinstance(error, CutError) or again:
                return Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed"), end, False
            return Diagnostic(Fault.MALFORMED, "Error: the tool call is not valid JSON"), end, False
        renamed = _renamed(body)
        return checked(body, tools, "arguments" if renamed else "parameters"), end, renamed


def _renamed(body: JsonValue) -> bool:
    return isinstance(body, dict) and "arguments" in body and "parameters" not in body


def _skip(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    assert between is not None  # it matches the empty text
    return between.end()


def _following(text: str, at: int) -> tuple[int | None, bool]:
    """The next object after `at`, and whether other words stand before it."""
    near = _skip(text, at)
    found = _CALL.search(text, near)
    if found is None:
        return None, False
    return found.start(), found.start() != near
