"""The vocabulary of parsed tool calls, and the seam of formats. No parsing, no execution."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class Fault(StrEnum):
    """What is wrong with something that was meant as a call."""

    MALFORMED = "malformed"  # not JSON, or not the shape of a call
    TRUNCATED = "truncated"  # never closed
    UNKNOWN_TOOL = "unknown_tool"
    ARGUMENTS_NOT_OBJECT = "arguments_not_object"
    STRAY_CLOSING_TAG = "stray_closing_tag"
    FOREIGN_FORMAT = "foreign_format"  # a call in another format's dress
    LOOSE = "loose"  # not quite the format, and yet it could only mean one call


@dataclass(frozen=True)
class ToolCall:
    """A well-formed call of a tool that exists."""

    name: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True)
class Diagnostic:
    """A call that will not be executed, and why.

    `message` never quotes the model: it is shown to the model as the tool's result, and quoted text could
    carry control tokens.
    """

    fault: Fault
    message: str


@dataclass(frozen=True)
class ParsedTurn:
    """One assistant turn: calls and faults in the order of the text."""

    items: tuple[ToolCall | Diagnostic, ...]
    spans: tuple[tuple[int, int], ...]  # where each item stands in the text; calls of one object share theirs
    recovered: tuple[Fault, ...] = ()  # one for each call among them that was read in spite of a fault

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that may be executed."""
        return tuple(item for item in self.items if isinstance(item, ToolCall))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The faults."""
        return tuple(item for item in self.items if isinstance(item, Diagnostic))


class ToolCallFormat(Protocol):
    """How one family of models writes tool calls."""

    def parse(self, text: str, tools: Collection[str]) -> ParsedTurn:
        """Read the calls in `text`, an assistant turn without its end-of-turn token. Never raises."""
        ...

    def render(self, call: ToolCall) -> str:
        """Text of `call` as a model of this family writes it."""
        ...
