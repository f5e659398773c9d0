"""Our own training rollouts as events, from the frame that training stores. Not a file of the spool.

A rollout is a session: its prompt, what the policy said, the calls in it with their results, and its end with
the score. Rollouts have no clock: their order stands in for it, and is marked as derived.
"""

import re
from collections.abc import Iterator, Mapping

import polars as pl

from agent_evo_dagster.capture.fields import dump, parse, text_of
from agent_evo_dagster.capture.frames import event_frame
from agent_evo_dagster.capture.records import identity
from agent_evo_dagster.capture.types import Event, Source, bare_event
from agent_evo_dagster.errors import CaptureError

# The columns of training's frame that are told; token ids and their probabilities stay there.
_NEEDED = ("task_id", "prompt", "text")
_TOLD = ("step", "group", "task_id", "answer", "reward", "correct", "finish", "turns", "tool_errors")
_PART = re.compile(
    r"<tool_call>\s*(?P<call>\{.*?\})\s*</tool_call>"
    r"|<tool_response>\s*(?P<result>.*?)\s*</tool_response>",
    re.DOTALL,
)
_CONTROL = re.compile(r"<\|[a-z_]{1,20}\|>(?:assistant|user|tool)?")
_START = 946_684_800 * 10**9  # 2000-01-01

Row = Mapping[str, object]


def events_of_rollouts(rollouts: pl.DataFrame, *, run: str) -> pl.DataFrame:
    """The events of each rollout (EVENT_SCHEMA), in the order of the rows; `run` tells runs apart.

    Raises:
        CaptureError: a column is missing.
    """
    missing = [name for name in _NEEDED if name not in rollouts.columns]
    if missing:
        raise CaptureError(
            f"Rollouts become events from training's frame of them; this one lacks {', '.join(missing)}."
        )
    columns = [name for name in dict.fromkeys((*_NEEDED, *_TOLD)) if name in rollouts.columns]
    rows = enumerate(rollouts.select(columns).iter_rows(named=True))
    return event_frame([event for number, row in rows for event in _Rollout(run, number, row).events()])


class _Rollout:
    """One rollout's events in the making."""

    def __init__(self, run: str, number: int, row: Row) -> None:
        self.run, self.number, self.row = run, number, row
        self.made = 0

    def events(self) -> Iterator[Event]:
        """Prompt, words and calls in turn, end."""
        yield self._event("UserPromptSubmit", text=text_of(self.row["prompt"]))
        yield from self._turns(text_of(self.row["text"]) or "")
        told = {name: self.row[name] for name in _TOLD if name in self.row}
        yield self._event("Stop", extra=dump(told))

    def _turns(self, text: str) -> Iterator[Event]:
        """A result answers the oldest call that has none."""
        waiting: list[Event] = []
        end = 0
        for part in _PART.finditer(text):
            yield from self._words(text[end : part.start()])
            end = part.end()
            if part["call"] is not None:
                waiting.append(self._call(part["call"]))
                yield waiting[-1]
            elif waiting:
                yield self._end(waiting.pop(0), part["result"])
        yield from self._words(text[end:])
        for begun in waiting:  # such as the one that ends the rollout: nobody broke it off
            yield self._end(begun, None)

    def _end(self, begun: Event, result: str | None) -> Event:
        return self._event("PostToolUse")._replace(
            tool_name=begun.tool_name,
            tool_use_id=begun.tool_use_id,
            tool_input=begun.tool_input,
            tool_response=dump({"content": result, "outcome_told": False}),
        )

    def _words(self, text: str) -> Iterator[Event]:
        words = _CONTROL.sub("", text).strip()
        if words:
            yield self._event("MessageDisplay", text=words)

    def _call(self, text: str) -> Event:
        """A call as the policy wrote it; what cannot be read of it stays text."""
        try:
            told = parse(text.encode())
        except ValueError:
            told = None
        call = told if isinstance(told, dict) else {"arguments": text}
        return self._event("PreToolUse")._replace(
            tool_name=text_of(call.get("name")),
            tool_use_id=f"call-{self.run}-{self.number}-{self.made}",
            tool_input=dump(call.get("arguments")),
        )

    def _event(self, kind: str, *, text: str | None = None, extra: str | None = None) -> Event:
        self.made += 1
        place = self.number * 10**6 + self.made
        origin = f"{self.run}\0{self.number}\0{self.made}\0{kind}\0{text}\0{extra}"
        session, file = f"rollout-{self.run}-{self.number}", f"rollouts/{self.run}"
        event = bare_event(
            identity(origin.encode()), session, kind, _START + place, Source.ROLLOUT, file, place
        )
        return event._replace(prompt_id=text_of(self.row["task_id"]), text=text, extra=extra, derived=["at"])
