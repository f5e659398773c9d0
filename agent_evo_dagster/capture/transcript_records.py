"""One line of a Claude Code transcript becomes events, or is known to be none. No files, no joining.

The kinds are those of the hooks, so that everything behind reads them alike: a prompt is UserPromptSubmit, an
expanded command UserPromptExpansion, the assistant's text MessageDisplay, a call PreToolUse, its result one
of PostToolUse, PostToolUseFailure, PermissionDenied and, where the client refused the input, PostToolBatch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_evo_dagster.capture.fields import FieldError, at_of, dump, parse, text_of
from agent_evo_dagster.capture.records import Place, identity
from agent_evo_dagster.capture.types import Event, Source, bare_event

Fields = Mapping[str, object]

_COLUMNS = frozenset({"sessionId", "agentId", "promptId", "timestamp", "type", "message", "toolUseResult"})
_REFUSED = "<tool_use_error>"
_COMMAND = re.compile(
    r"<command-message>.*?</command-message>\s*<command-name>/?(?P<name>[^<]{1,200})</command-name>"
    r"(?:\s*<command-args>(?P<args>.*?)</command-args>)?",
    re.DOTALL,
)
_KIND = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class Nothing:
    """A line that is no event, and what kind of line it is."""

    kind: str


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """Names and inputs of the calls so far: a result names its call by the id alone."""

    by_id: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)


def events_of(record: object, place: Place, content: bytes, calls: KnownCalls) -> list[Event] | Nothing:
    """The events that a parsed line stands for, in order; `content` is the line after redaction.

    Raises:
        FieldError: it is no line of a transcript; the message says why.
    """
    if not isinstance(record, dict):
        raise FieldError(f"it is {'null' if record is None else 'a ' + type(record).__name__}, not an object")
    kind = record.get("type")
    if not isinstance(kind, str):
        raise FieldError("it has no type")
    line = _Line(record, place, content, calls)
    match kind:
        case "assistant":
            return line.said() or Nothing(f"assistant/{line.shape()}")
        case "user":
            return line.given()
        case "system" if record.get("subtype") == "compact_boundary":
            return [line.event("PostCompact", extra=line.rest())]
        case "system":
            return Nothing(f"system/{_named(record.get('subtype'))}")
    return Nothing(_named(kind))


class _Line:
    """A line in the making of its events."""

    def __init__(self, record: Fields, place: Place, content: bytes, calls: KnownCalls) -> None:
        self.record = record
        self.place = place
        self.content = content
        self.calls = calls
        self.made = 0
        message = record.get("message")
        self.message: Fields = message if isinstance(message, dict) else {}

    def blocks(self) -> list[Fields]:
        """The content blocks; plain text is one of them."""
        content = self.message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def shape(self) -> str:
        """The kinds of its blocks, in words."""
        return "+".join(dict.fromkeys(_named(block.get("type")) for block in self.blocks())) or "empty"

    def said(self) -> list[Event]:
        """What the assistant said and called."""
        events = []
        for block in self.blocks():
            text, call_id = block.get("text"), block.get("id")
            if block.get("type") == "text" and isinstance(text, str) and text:
                events.append(self.event("MessageDisplay", text=text, extra=self.rest()))
            elif block.get("type") == "tool_use":
                name, tool_input = text_of(block.get("name")), _json(block.get("input"))
                if isinstance(call_id, str):
                    self.calls.by_id[call_id] = name, tool_input
                events.append(self.call("PreToolUse", call_id, name, tool_input, extra=self.rest()))
        return events

    def given(self) -> list[Event] | Nothing:
        """What the user, or the client in the user's place, gave: results of calls, or a prompt."""
        blocks = self.blocks()
        results = [self.result(block) for block in blocks if block.get("type") == "tool_result"]
        if results:
            return results
        text = "\n".join(text for block in blocks if isinstance(text := block.get("text"), str))
        hidden = self._hidden(text)
        if hidden is not None:
            return Nothing(f"user/{hidden}")
        command = _COMMAND.match(text)
        if command is None:
            return [self.event("UserPromptSubmit", text=text, extra=self.rest())]
        name, args = command["name"].strip(), (command["args"] or "").strip()
        told = {"expansion_type": "slash_command", "command_name": name, "command_args": args}
        prompt = f"/{name} {args}".rstrip()
        return [self.event("UserPromptExpansion", text=prompt, extra={**self.rest(), **told})]

    def _hidden(self, text: str) -> str | None:
        """What a text is that nobody typed to the agent; None: a prompt."""
        record = self.record
        if record.get("isMeta") is True:
            return "meta"
        if record.get("isCompactSummary") is True:
            return "compact_summary"
        if text.startswith(("<local-command-", "<command-name>")):
            return "local_command"
        if record.get("rowSource") == "harness" or text.startswith("[Request interrupted by user"):
            return "harness"
        return None if text.strip() else self.shape()

    def result(self, block: Fields) -> Event:
        """How a call ended, by the fields of its result."""
        call_id, content = block.get("tool_use_id"), block.get("content")
        name, tool_input = self.calls.by_id.get(str(call_id), (None, None))
        extra, told = self.rest(), _text(content)
        if block.get("is_error") is not True:
            given = self.record.get("toolUseResult")
            response = {"content": content, "is_error": False} if given is None else given
            return self.call("PostToolUse", call_id, name, tool_input, response=response, extra=extra)
        if told.startswith(_REFUSED):
            named = {"tool_use_id": call_id, "tool_name": name, "tool_input": _value(tool_input)}
            extra["tool_calls"] = [{**named, "tool_response": told}]
            return self.call("PostToolBatch", call_id, name, tool_input, extra=extra)
        decision = self.record.get("permissionDecision")
        if isinstance(decision, dict) and decision.get("decision") == "reject":
            return self.call("PermissionDenied", call_id, name, tool_input, error=told, extra=extra)
        # without a decision, "rejected" is what the client writes for a call that the user broke off
        extra["is_interrupt"] = "toolDenialKind" in self.record
        return self.call("PostToolUseFailure", call_id, name, tool_input, error=told, extra=extra)

    def rest(self) -> dict[str, object]:
        """What has no column: the line's other fields, and those of its message beside the content."""
        told = {name: value for name, value in self.record.items() if name not in _COLUMNS}
        message = {name: value for name, value in self.message.items() if name not in ("content", "id")}
        if isinstance(self.message.get("id"), str):
            told["message_id"] = self.message["id"]
        return {**told, "message": message} if message else told

    def call(
        self,
        kind: str,
        call_id: object,
        name: str | None,
        tool_input: str | None,
        *,
        response: object = None,
        error: str | None = None,
        extra: Fields,
    ) -> Event:
        """An event of a tool call."""
        if not isinstance(call_id, str):
            raise FieldError("its tool call has no id")
        return self.event(kind, extra=extra)._replace(
            tool_name=name,
            tool_use_id=call_id,
            tool_input=tool_input,
            tool_response=None if response is None else dump(response),
            error=error,
        )

    def event(self, kind: str, *, extra: Fields, text: str | None = None) -> Event:
        """An event of this line; its id tells it from others of the same line."""
        get, derived = self.record.get, []
        session = get("sessionId")
        if not isinstance(session, str):
            session = self.place.stem
            derived.append("session_id")
        self.made += 1
        name = identity(b"%b#%d" % (self.content, self.made))
        at, place = at_of(get("timestamp")), self.place
        event = bare_event(name, session, kind, at, Source.TRANSCRIPT, place.file, place.offset)
        return event._replace(
            agent_id=text_of(get("agentId")),
            prompt_id=text_of(get("promptId")),
            text=text,
            extra=dump(extra),
            derived=derived,
        )


def _named(kind: object) -> str:
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else "other"


def _json(value: object) -> str | None:
    return None if value is None else dump(value)


def _value(json_text: str | None) -> object:
    return None if json_text is None else parse(json_text.encode())


def _text(content: object) -> str:
    """The text of a result: itself, or its text blocks."""
    if isinstance(content, str):
        return content
    blocks: Sequence[object] = content if isinstance(content, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
