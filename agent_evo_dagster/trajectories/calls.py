"""The joining of one tool call's events: by its id, by content where it has none. Not how the call ended."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

import orjson

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.values import canonical

CALL_KINDS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied")
_ENDS: Final = frozenset({"PostToolUse", "PostToolUseFailure"})
_LATE_KINDS: Final = frozenset({"PermissionRequest", "PreSkillShellCommand", "PostToolBatch"})
_CLOCK_SLACK: Final = 1_000_000_000  # ns by which parallel hooks may record a call's end before its start

_Content = tuple[str, str | None, str | None, str]  # session, agent, tool, what it was asked
_Named = tuple[str, str | None, str]  # session, agent, id


@dataclass(frozen=True, slots=True)
class BatchCall:
    """What the latest batch that names a call tells of it."""

    row: int
    place: int  # in that batch, of a call without events of its own
    response: Any
    # of a call that nothing else tells of
    tool_name: str | None
    tool_use_id: str | None
    tool_input: str | None


@dataclass(slots=True)
class Joining:
    """Which step each event belongs to. A step goes by the row of one of its events.

    A call that only a batch tells of goes by a number beyond the rows; it has no event where the batch has to
    be another call's.
    """

    step_of: list[int]
    batches: dict[int, BatchCall] = field(default_factory=dict)
    evidence: defaultdict[int, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )  # rows of other steps
    commands: dict[int, str] = field(default_factory=dict)  # JSON text of the slash command in a prompt
    messages: dict[int, str | None] = field(default_factory=dict)  # text of a message shown in parts
    steps: int = 0  # numbers given to calls that only a batch tells of

    def new_step(self) -> int:
        """A number for a call that has no event of its own."""
        self.steps += 1
        return len(self.step_of) + self.steps - 1


def join_calls(events: EventColumns, joining: Joining) -> None:
    """Give the events of a call one step: by id, then pairs by content, then what else names a call."""
    step_of = joining.step_of
    by_id: dict[_Named, int] = {}
    unnamed, late = [], []
    for row, kind in enumerate(events.kind):
        if kind in _LATE_KINDS:
            late.append(row)
        elif kind in CALL_KINDS:
            call_id = events.tool_use_id[row]
            if call_id is None:
                unnamed.append(row)
            else:
                key = events.session_id[row], events.agent[row], call_id
                step_of[row] = by_id.setdefault(key, row)
    _pair_unnamed(events, unnamed, step_of)
    if late:
        book = _LateBook(events, joining, by_id)
        for row in late:
            book.take(row)


def _pair_unnamed(events: EventColumns, rows: Sequence[int], step_of: list[int]) -> None:
    """Pair starts and ends that have no id: each end with the nearest equal start before it."""
    starting = {events.session_id[row] for row in rows if events.kind[row] not in _ENDS}
    rows = [row for row in rows if events.session_id[row] in starting]
    waiting: dict[_Content, list[int]] = defaultdict(list)
    for row in rows:
        if events.kind[row] not in _ENDS:
            waiting[_content(events, row)].append(row)
    for row in rows:
        if events.kind[row] in _ENDS:
            start = _nearest(events, waiting.get(_content(events, row), []), row)
            step_of[row] = row if start is None else start


def _content(events: EventColumns, row: int) -> _Content:
    tool_input = canonical(events.value("tool_input", row))
    return events.session_id[row], events.agent[row], events.tool_name[row], tool_input


def _nearest(events: EventColumns, starts: list[int], end: int) -> int | None:
    place = bisect_left(starts, end)
    if place > 0:
        return starts.pop(place - 1)
    if starts and events.value("at", starts[0]) - events.value("at", end) <= _CLOCK_SLACK:
        return starts.pop(0)
    return None


class _LateBook:
    """Joins events that name their call otherwise than by their own id; one that names none stays alone."""

    def __init__(self, events: EventColumns, joining: Joining, by_id: dict[_Named, int]) -> None:
        self._events = events
        self._joining = joining
        self._by_id = by_id
        self._by_content: dict[_Content, list[tuple[int, int]]] = defaultdict(list)  # first row, step
        self._rows: dict[int, list[int]] = defaultdict(list)  # of each call
        for row, kind in enumerate(events.kind):
            if kind in CALL_KINDS:
                self._rows[joining.step_of[row]].append(row)

    def take(self, row: int) -> None:
        """Join one event."""
        events, kind = self._events, self._events.kind[row]
        if kind == "PostToolBatch":
            self._take_batch(row)
            return
        if kind == "PreSkillShellCommand":
            owner = (events.tool_use_id[row] or "").partition(":")[0]
            step = self._by_id.get((events.session_id[row], events.agent[row], owner))
        else:
            step = self._asking_the_same(_content(events, row), row)
        if step is not None:
            self._joining.step_of[row] = step

    def _asking_the_same(self, content: _Content, row: int) -> int | None:
        """The latest call before `row` with this content that no batch has named, else the first after it."""
        if not self._by_content:
            self._sort_by_content()
        same = self._by_content.get(content, [])
        place = bisect_left(same, (row,))
        nearest_first = chain(range(place - 1, -1, -1), range(place, len(same)))
        steps = (same[index][1] for index in nearest_first)
        return next((step for step in steps if step not in self._joining.batches), None)

    def _sort_by_content(self) -> None:
        events = self._events
        for step, rows in sorted(self._rows.items(), key=lambda item: item[1][0]):
            starts = [row for row in reversed(rows) if events.kind[row] == "PreToolUse"]
            inputs = (events.value("tool_input", row) for row in [*starts, *rows])
            asked = next((value for value in inputs if value is not None), None)
            key = events.session_id[rows[0]], events.agent[rows[0]], self._tool_of(step), canonical(asked)
            self._by_content[key].append((rows[0], step))

    def _take_batch(self, row: int) -> None:
        joining = self._joining
        named = [(self._call_in_batch(row, call), call) for call in _batch_calls(self._events.extra_of(row))]
        if not named:
            return
        # the batch is the event of a call that has no other end; where all have one, of its first call
        owner = next((step for step, _ in named if not self._has_end(step)), named[0][0])
        joining.step_of[row] = owner
        for place, (step, call) in enumerate(named):
            known = joining.batches.get(step)
            if known is not None and known.row == row:  # named twice
                continue
            joining.batches[step] = self._told(row, place, step, call)
            if step == owner:
                self._rows[step].append(row)
            else:
                joining.evidence[step].append(row)

    def _call_in_batch(self, row: int, call: dict[str, Any]) -> int:
        session, agent, call_id = (
            self._events.session_id[row],
            self._events.agent[row],
            call.get("tool_use_id"),
        )
        if isinstance(call_id, str):
            key = session, agent, call_id
            if key not in self._by_id:
                self._by_id[key] = self._joining.new_step()
            return self._by_id[key]
        content = session, agent, _text(call.get("tool_name")), canonical(_json(call.get("tool_input")))
        step = self._asking_the_same(content, row)
        return self._joining.new_step() if step is None else step

    def _told(self, row: int, place: int, step: int, call: dict[str, Any]) -> BatchCall:
        known, is_bare = self._joining.batches.get(step), not self._rows.get(step)
        place = place if is_bare else known.place if known is not None else 0
        response = call.get("tool_response")
        if known is not None and known.tool_name is not None:
            return replace(known, row=row, place=place, response=response)
        if self._tool_of(step) is not None:
            return BatchCall(row, place, response, None, None, None)
        tool_input = _json(call.get("tool_input"))
        called = _text(call.get("tool_name")), _text(call.get("tool_use_id")), tool_input
        return BatchCall(row, place, response, *called)

    def _has_end(self, step: int) -> bool:
        kinds = (self._events.kind[row] for row in self._rows.get(step, ()))
        return any(kind in _ENDS or kind == "PermissionDenied" for kind in kinds)

    def _tool_of(self, step: int) -> str | None:
        names = (self._events.tool_name[row] for row in self._rows.get(step, ()))
        return next((name for name in names if name), None)


def _batch_calls(extra: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calls = extra.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield call


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _json(value: object) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
