"""The format of Qwen3-Coder and later: `<function=name><parameter=key>value</parameter></function>`.

Values are text: what type a parameter has is the tool's to know.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from agent_evo_dagster.training.tool_calls.json_calls import BARE_CALL
from agent_evo_dagster.training.tool_calls.types import Diagnostic, Fault, JsonValue, ParsedTurn, ToolCall

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
END = "</function>"
_MARK = re.compile(r"<tool_call>|</tool_call>|<function=|</function>")
_NAME = re.compile(r"([^<>\s]{1,200})>")
# A closing tag within a value is followed by neither: the value goes on behind it.
_CLOSED = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function>))")
_NEXT = re.compile(r"\n<parameter=|</function>|<function=")


@dataclass(frozen=True)
class _Body:
    """One `<function=...>` element, read."""

    item: ToolCall | Diagnostic
    end: int  # where reading goes on
    loose: bool = False


class QwenXmlFormat:
    """Calls as elements: a name, and text under each parameter."""

    def render(self, call: ToolCall) -> str:
        """Text of `call` as the models' own chat template writes it."""
        parts = [
            f"<parameter={key}>\n{_as_text(value)}\n</parameter>\n" for key, value in call.arguments.items()
        ]
        return f"{OPEN}\n<function={call.name}>\n{''.join(parts)}{END}\n{CLOSE}"

    def parse(self, text: str, tools: Collection[str]) -> ParsedTurn:
        """Read the calls in `text`; whatever is not a good call becomes a diagnostic."""
        items: list[ToolCall | Diagnostic] = []
        spans: list[tuple[int, int]] = []
        recovered: list[Fault] = []
        at = 0
        opened: int | None = None  # where the tag before a function began
        while mark := _MARK.search(text, at):
            begin = mark.start() if opened is None else opened
            opened = None
            item: ToolCall | Diagnostic | None
            if mark.group() == OPEN:
                item, at = _opening(text, mark.end())
                if item is None:
                    opened = mark.start()
                    continue
            elif mark.group() == "<function=":
                body = _function(text, mark.end(), tools)
                item, at = body.item, _after_close(text, body.end)
                unopened = begin == mark.start()
                if isinstance(item, ToolCall) and (body.loose or unopened or at == body.end):
                    recovered.append(Fault.LOOSE)
            else:
                message = "Error: a tool call is closed that was not opened"
                item, at = Diagnostic(Fault.STRAY_CLOSING_TAG, message), mark.end()
            items.append(item)
            spans.append((begin, at))
        if not items and (bare := BARE_CALL.search(text)):
            items.append(Diagnostic(Fault.FOREIGN_FORMAT, "Error: write the call as <function=...>"))
            spans.append((bare.start(), len(text)))
        return ParsedTurn(tuple(items), tuple(spans), tuple(recovered))


def _opening(text: str, at: int) -> tuple[Diagnostic | None, int]:
    """Nothing, where a function follows the opening tag; otherwise what is there instead, skipped."""
    start = len(text) - len(text[at:].lstrip())
    if text.startswith("<function=", start):
        return None, start
    following = _MARK.search(text, at)
    if following is None or following.group() != CLOSE:
        end = len(text) if following is None else following.start()
        return Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed"), end
    if text.startswith("{", start):
        return Diagnostic(Fault.FOREIGN_FORMAT, "Error: write the call as <function=...>"), following.end()
    return Diagnostic(Fault.MALFORMED, "Error: the tool call names no function"), following.end()


def _function(text: str, at: int, tools: Collection[str]) -> _Body:
    """The element whose name begins at `at`."""
    named = _NAME.match(text, at)
    if named is None:
        return _broken(text, at)
    name, arguments, loose, at = named.group(1), dict[str, JsonValue](), False, named.end()
    while True:
        at = len(text) - len(text[at:].lstrip())
        if text.startswith(END, at):
            break
        key = _NAME.match(text, at + len("<parameter=")) if text.startswith("<parameter=", at) else None
        if key is None:
            return _broken(text, at)
        value_end, following = _value(text, key.end())
        if value_end is None:
            return _broken(text, at)
        if key.group(1) in arguments:
            return _broken(text, at)
        arguments[key.group(1)] = _trimmed(text[key.end() : value_end])
        loose |= following == value_end
        at = following
    if name not in tools:
        return _Body(Diagnostic(Fault.UNKNOWN_TOOL, "Error: no such tool"), at + len(END))
    return _Body(ToolCall(name, arguments), at + len(END), loose)


def _value(text: str, at: int) -> tuple[int | None, int]:
    """Where the value that begins at `at` ends, and where what follows it begins; None where it is cut."""
    closed, following = _CLOSED.search(text, at), _NEXT.search(text, at)
    if closed and (following is None or closed.start() < following.start() or following.group() == END):
        return closed.start(), closed.end()
    if following is None or following.group() == "<function=":
        return None, len(text)
    if "</parameter>" in text[at : following.start()]:
        return None, len(text)  # closed, and then something that does not belong there
    return following.start(), following.start()


def _broken(text: str, at: int) -> _Body:
    """What was read of the element is dropped: up to its end, or up to where another begins."""
    mark = _MARK.search(text, at)
    if mark is None or mark.group() in (OPEN, "<function="):
        end = len(text) if mark is None else mark.start()
        return _Body(Diagnostic(Fault.TRUNCATED, "Error: the tool call is not closed"), end)
    end = mark.end() if mark.group() == END else mark.start()
    return _Body(Diagnostic(Fault.MALFORMED, "Error: the tool call is not well formed"), end)


def _after_close(text: str, at: int) -> int:
    """Behind the closing tag of the call, where there is one."""
    close = len(text) - len(text[at:].lstrip())
    return close + len(CLOSE) if text.startswith(CLOSE, close) else at


def _trimmed(value: str) -> str:
    """Without the one line break that the format puts at each end."""
    return value.removeprefix("\n").removesuffix("\n")


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
