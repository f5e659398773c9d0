"""The Hermes format, also Qwen's: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`."""

import json
import re
from collections.abc import Collection

from agent_evo_dagster.training.tool_calls.json_calls import BARE_CALL, JsonReader, checked
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, ParsedTurn, ToolCall

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
_MARK = re.compile(r"<tool_call>|</tool_call>|<function=")


class HermesFormat:
    """Calls as JSON between `<tool_call>` tags."""

    def __init__(self) -> None:
        self._reader = JsonReader()

    def render(self, call: ToolCall) -> str:
        """Text of `call`, as compact JSON between the tags."""
        body = {"name": call.name, "arguments": call.arguments}
        return OPEN + json.dumps(body, separators=(",", ":"), ensure_ascii=False) + CLOSE

    def parse(self, text: str, tools: Collection[str]) -> ParsedTurn:
        """Read the calls in `text`; whatever is not a good call becomes a diagnostic."""
        items: list[ToolCall | Diagnostic] = []
        spans: list[tuple[int, int]] = []
        at = 0
        while mark := _MARK.search(text, at):
            if mark.group() == OPEN:
                item, at = self._call(text, mark.end(), tools)
            else:
                item, at = _out_of_place(mark.group()), mark.end()
            items.append(item)
            spans.append((mark.start(), at))
        if not items and (bare := BARE_CALL.search(text)):
            items.append(Diagnostic(Fault.FOREIGN_FORMAT, "Error: write the tool call in its tags"))
            spans.append((bare.start(), len(text)))
        return ParsedTurn(tuple(items), tuple(spans))

    def _call(self, text: str, start: int, tools: Collection[str]) -> tuple[ToolCall | Diagnostic, int]:
        """The call whose body begins at `start`, and where reading goes on."""
        body_at = len(text) - len(text[start:].lstrip())
        try:
            body, end = self._reader.value(text, body_at)
        except ValueError:
            return _unreadable(text, start)
        close = len(text) - len(text[end:].lstrip())
        if not text.startswith(CLOSE, close):
            return _unreadable(text, end)
        return checked(body, tools, "arguments"), close + len(CLOSE)


def _unreadable(text: str, start: int) -> tuple[Diagnostic, int]:
    """A body that is no call: skipped up to its closing tag, or up to the next call where it has none."""
    mark = re.compile(f"{OPEN}|{CLOSE}").search(text, start)
    if mark is None:
        return Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed"), len(text)
    if mark.group() == OPEN:
        return Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed"), mark.start()
    if "<function=" in text[start : mark.start()]:
        return _out_of_place("<function="), mark.end()
    return Diagnostic(Fault.MALFORMED, "Error: the tool call is not valid JSON"), mark.end()


def _out_of_place(tag: str) -> Diagnostic:
    if tag == CLOSE:
        return Diagnostic(Fault.STRAY_CLOSING_TAG, "Error: a tool call is closed that was not opened")
    return Diagnostic(Fault.FOREIGN_FORMAT, "Error: write the tool call as JSON")
