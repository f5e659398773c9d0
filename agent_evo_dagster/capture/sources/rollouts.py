"""Our own training rollouts as events, from the frame that training stores. Not a file of the spool.

A rollout is a session: its prompt, what the policy said, the calls in it with their results, and its end with
the score. Rollouts have no clock: their order stands in for it, and is marked as derived.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from agent_evo_dagster.capture.fields import dump, text_of
from agent_evo_dagster.capture.frames import event_frame
from agent_evo_dagster.capture.records import identity
from agent_evo_dagster.capture.types import Event, Source, bare_event
from agent_evo_dagster.errors import CaptureError

# The columns of training's frame that are told; token ids and their probabilities stay there.
_NEEDED = ("task_id", "prompt", "text")
_TOLD = ("step", "group", "task_id", "answer", "reward", "correct", "finish", "turns", "tool_errors")
# How chat templates open and end what somebody says: ChatML (Qwen, SmolLM2) and Llama 3. Tool results that
# spell these out were broken up when they were rendered.
_HEADER = re.compile(
    r"<\|im_start\|>(?P<chatml>[a-z]{1,20})\n|<\|start_header_id\|>(?P<llama>[a-z]{1,20})<\|end_header_id\|>\n*"
)
_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)
_CONTROL = re.compile(r"<\|[a-z_]{1,20}\|>")
_END = re.compile(rf"{_CONTROL.pattern}\Z")
_LONGEST = 24  # characters of a control token
_START = 946_684_800 * 10**9  # 2000-01-01

Row = Mapping[str, object]


class TurnCall(NamedTuple):
    """A call in a turn of the policy, and where it stands; without a name it is one that cannot be read."""

    start: int
    end: int  # calls that were written as one object share their place
    name: str | None
    arguments: object


ReadTurn = Callable[[str], Sequence[TurnCall]]  # the calls of a turn in order, in the format of the policy


def events_of_rollouts(rollouts: pl.DataFrame, *, run: str, read: ReadTurn) -> pl.DataFrame:
    """The events of each rollout (EVENT_SCHEMA), in the order of the rows.

    Args:
        rollouts: training's frame of them.
        run: tells runs apart.
        read: finds the calls of a turn, in the format that the rollouts were sampled with.

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
    return event_frame([event for number, row in rows for event in _Rollout(run, number, row, read).events()])


class _Rollout:
    """One rollout's events in the making."""

    def __init__(self, run: str, number: int, row: Row, read: ReadTurn) -> None:
        self.run, self.number, self.row, self.read = run, number, row, read
        self.made = 0

    def events(self) -> Iterator[Event]:
        """Prompt, words and calls in turn, end."""
        yield self._event("UserPromptSubmit", text=text_of(self.row["prompt"]))
        yield from self._turns(text_of(self.row["text"]) or "")
        told = {name: self.row[name] for name in _TOLD if name in self.row}
        yield self._event("Stop", extra=dump(told))

    def _turns(self, text: str) -> Iterator[Event]:
        """A result answers the oldest call of the turn before that has none."""
        waiting: list[Event] = []
        for speaker, said in _spoken(text):
            if speaker == "assistant":
                yield from self._ends(waiting)
                waiting = []
                for event in self._turn(said):
                    if event.kind == "PreToolUse":
                        waiting.append(event)
                    yield event
                continue
            for result in _results(said):
                if waiting:
                    yield self._end(waiting.pop(0), result)
                elif result:  # an environment that says more than tools do
                    yield self._event("UserPromptSubmit", text=result)
        yield from self._ends(waiting)  # such as the one that ends the rollout: nobody broke it off

    def _turn(self, text: str) -> Iterator[Event]:
        """Words and calls of one turn, in its order."""
        at = 0
        for call in self.read(text):
            if call.start >= at:
                yield from self._words(text[at : call.start])
                at = call.end
            yield self._call(call, text[call.start : call.end])
        yield from self._words(text[at:])

    def _ends(self, begun: Sequence[Event]) -> Iterator[Event]:
        """The ends of calls that were not answered."""
        return (self._end(each, None) for each in begun)

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

    def _call(self, call: TurnCall, written: str) -> Event:
        """A call as the policy wrote it; what cannot be read of it stays text."""
        return self._event("PreToolUse")._replace(
            tool_name=call.name,
            tool_use_id=f"call-{self.run}-{self.number}-{self.made}",
            tool_input=dump(written if call.name is None else call.arguments),
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


def _spoken(text: str) -> Iterator[tuple[str, str]]:
    """Who said what, in order; a rollout begins within a turn of the policy."""
    speaker, at = "assistant", 0
    for header in _HEADER.finditer(text):
        yield speaker, _without_end(text[at : header.start()])
        speaker, at = header["chatml"] or header["llama"], header.end()
    yield speaker, _without_end(text[at:])


def _without_end(said: str) -> str:
    """Without the control tokens that end it."""
    said = said.rstrip()
    while end := _END.search(said[-_LONGEST:]):
        said = said[: -len(end.group())].rstrip()
    return said


def _results(said: str) -> list[str]:
    """The results in what the environment wrote: those in tags, or the whole where a template has none."""
    return _RESULT.findall(said) or [said.strip()]
