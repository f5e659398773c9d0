"""Tools: what a call may reach, with its parameters, its deadline, and its results as text.

A call that a tool refuses is the policy's fault and is answered; whatever else a tool raises is the
environment's own failure and is not caught here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from agent_evo_dagster.training.background import Background, DeadlineError
from agent_evo_dagster.training.environments.types import ToolFault
from agent_evo_dagster.training.rollout.types import Schema
from agent_evo_dagster.training.tool_calls.types import JsonValue, ToolCall

Kind = Literal["string", "integer", "number", "boolean", "array", "object"]

_KINDS: Mapping[Kind, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


class ToolRefusedError(ValueError):
    """A tool does not do what it is asked for; the message goes back to the policy and never quotes it."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool."""

    kind: Kind = "string"
    description: str = ""
    required: bool = True


@dataclass(frozen=True)
class Tool:
    """Something that an agent may call with named arguments; its answer is text."""

    name: str
    description: str
    parameters: Mapping[str, Parameter]
    run: Callable[..., str]
    pure: bool = False  # computes at once and touches nothing: needs no thread and no deadline

    @property
    def schema(self) -> Schema:
        """The tool as chat templates list it."""
        described = {
            name: {"type": parameter.kind, "description": parameter.description}
            for name, parameter in self.parameters.items()
        }
        required = [name for name, parameter in self.parameters.items() if parameter.required]
        arguments = {"type": "object", "properties": described, "required": required}
        function = {"name": self.name, "description": self.description, "parameters": arguments}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolResult:
    """What a call came to; `fault` where it was not done."""

    text: str
    fault: ToolFault | None = None


class ToolBox:
    """The tools of one environment, each call with a deadline in seconds."""

    def __init__(self, tools: Sequence[Tool], seconds: float | None = None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._seconds = seconds

    def execute(self, call: ToolCall) -> ToolResult:
        """Do what `call` asks for. Arguments that the tool does not have are left aside."""
        tool = self._tools[call.name]
        arguments: dict[str, JsonValue] = {}
        for name, parameter in tool.parameters.items():
            if name not in call.arguments and not parameter.required:
                continue
            value = converted(call.arguments.get(name), parameter.kind)
            if value is None:
                return ToolResult(f"Error: {tool.name} needs {name}", ToolFault.BAD_ARGUMENTS)
            arguments[name] = value
        try:
            return ToolResult(self._run(tool, arguments))
        except ToolRefusedError as error:
            return ToolResult(f"Error: {error}", ToolFault.REFUSED)
        except DeadlineError:
            return ToolResult("Error: the tool took too long", ToolFault.TOOL_TIMEOUT)

    def _run(self, tool: Tool, arguments: Mapping[str, JsonValue]) -> str:
        if tool.pure or self._seconds is None:
            return tool.run(**arguments)
        return Background(partial(tool.run, **arguments)).result(self._seconds)


def converted(value: JsonValue, kind: Kind) -> JsonValue:
    """The argument as the parameter has it, or None where it is not one. Formats of text give text alone."""
    if kind == "string":
        return _text(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    fits = isinstance(value, _KINDS[kind]) and isinstance(value, bool) == (kind == "boolean")
    return value if fits else None


def _text(value: JsonValue) -> str | None:
    """Numbers are accepted as text, other JSON is not."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # an integer beyond the interpreter's limit of digits
        return None
