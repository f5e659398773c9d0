"""The joining of one tool call's events: by its id, by content where it has none. Not how the call ended."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import orjson

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.drafts import Draft
from agent_evo_dagster.trajectories.types import StepKind
from agent_evo_dagster.trajectories.values import canonical

_ENDS: Final = frozenset({"PostToolUse", "PostToolUseFailure"})
_CLOCK_SLACK: Final = 1_000_000_000  # ns by which parallel hooks may record a call's end before its start


class CallBook:
    """The calls of one session: events are taken in order, then paired, then joined by what names them."""

    KINDS: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied"})
    LATE_KINDS: Final = frozenset({"PermissionRequest", "PreSkillShellCommand", "PostToolBatch"})

    def __init__(self, columns: EventColumns) -> None:
        self.drafts: list[Draft] = []
        self._columns = columns
        self._by_id: dict[tuple[str | None, str], Draft] = {}
        self._by_content: dict[tuple[str | None, str | None, str], list[Draft]] = {}
        self._unnamed: list[tuple[int, str | None]] = []

    def take(self, row: int, agent: str | None) -> None:
        """Join an event of a call by its id; one without an id waits for `pair_unnamed`."""
        call_id = self._columns.tool_use_id[row]
        if call_id is None:
            self._unnamed.append((row, agent))
            return
        self._add(self._named(agent, call_id), row)

    def pair_unnamed(self) -> None:
        """Pair starts and ends that have no id: each end with the nearest equal start before it."""
        waiting: dict[tuple[str | None, str | None, str], list[int]] = defaultdict(list)
        starts_exist = any(self._columns.kind[row] not in _ENDS for row, _ in self._unnamed)
        ends = []
        for row, agent in self._unnamed:
            if self._columns.kind[row] not in _ENDS:
                waiting[self._content(row, agent)].append(row)
            else:
                ends.append((row, agent))
        for row, agent in ends:
            start = self._nearest(waiting[self._content(row, agent)], row) if starts_exist else None
            self._new(agent, [row] if start is None else [start, row])
        for (agent, _, _), rows in waiting.items():
            for row in rows:
                self._new(agent, [row])

    def take_late(self, row: int, agent: str | None) -> bool:
        """Join an event that names its call otherwise than by its own id. False: it names none."""
        kind = self._columns.kind[row]
        if kind == "PostToolBatch":
            return self._take_batch(row, agent)
        if kind == "PreSkillShellCommand":
            owner = (self._columns.tool_use_id[row] or "").partition(":")[0]
            draft = self._by_id.get((agent, owner))
        else:
            draft = self._asking_the_same(
                agent, self._columns.tool_name[row], self._columns.tool_input[row], row
            )
        if draft is not None:
            draft.rows.append(row)
        return draft is not None

    def _named(self, agent: str | None, call_id: str) -> Draft:
        draft = self._by_id.get((agent, call_id))
        if draft is None:
            draft = self._by_id[agent, call_id] = Draft(agent, StepKind.TOOL_CALL, [], tool_use_id=call_id)
            self.drafts.append(draft)
        return draft

    def _new(self, agent: str | None, rows: list[int]) -> None:
        draft = Draft(agent, StepKind.TOOL_CALL, [])
        self.drafts.append(draft)
        for row in rows:
            self._add(draft, row)

    def _add(self, draft: Draft, row: int) -> None:
        columns, kind = self._columns, self._columns.kind[row]
        draft.rows.append(row)
        draft.tool_name = draft.tool_name or columns.tool_name[row]
        if draft.tool_input is None or kind == "PreToolUse":
            draft.tool_input = columns.tool_input[row]
        if kind == "PreToolUse":
            draft.start = row if draft.start is None else draft.start
        elif kind == "PermissionDenied":
            draft.denial = row
        elif draft.end is None or columns.kind[draft.end] != "PostToolUseFailure":
            draft.end = row

    def _nearest(self, starts: list[int], end: int) -> int | None:
        at, place = self._columns.at, bisect_left(starts, end)
        if place > 0:
            return starts.pop(place - 1)
        if starts and at[starts[0]] - at[end] <= _CLOCK_SLACK:
            return starts.pop(0)
        return None

    def _content(self, row: int, agent: str | None) -> tuple[str | None, str | None, str]:
        return agent, self._columns.tool_name[row], canonical(self._columns.tool_input[row])

    def _asking_the_same(
        self, agent: str | None, tool: str | None, tool_input: str | None, row: int
    ) -> Draft | None:
        """The latest call before `row` with this content that no batch has named, else the first after it."""
        if not self._by_content:
            self._sort_by_content()
        same = self._by_content.get((agent, tool, canonical(tool_input)), [])
        place = bisect_left(same, row, key=Draft.first)
        nearest_first = chain(range(place - 1, -1, -1), range(place, len(same)))
        return next((same[index] for index in nearest_first if same[index].batch is None), None)

    def _sort_by_content(self) -> None:
        for draft in sorted((draft for draft in self.drafts if draft.rows), key=Draft.first):
            key = (draft.agent, draft.tool_name, canonical(draft.tool_input))
            self._by_content.setdefault(key, []).append(draft)

    def _take_batch(self, row: int, agent: str | None) -> bool:
        named = [
            (self._call_in_batch(row, agent, call), call.get("tool_response"))
            for call in _batch_calls(self._columns.extra_of(row))
        ]
        if not named:
            return False
        # the batch is the event of a call that has no other end; where all have one, of its first call
        owner = next((draft for draft, _ in named if draft.end is None and draft.denial is None), named[0][0])
        for place, (draft, response) in enumerate(named):
            if draft.batch == row:  # named twice
                continue
            draft.batch, draft.batch_response = row, response
            if not draft.rows:
                draft.place = place
            (draft.rows if draft is owner else draft.evidence).append(row)
        return True

    def _call_in_batch(self, row: int, agent: str | None, call: dict[str, Any]) -> Draft:
        call_id, tool, value = call.get("tool_use_id"), call.get("tool_name"), call.get("tool_input")
        tool_input = None if value is None else orjson.dumps(value).decode()
        draft: Draft | None = None
        if isinstance(call_id, str):
            draft = self._named(agent, call_id)
        else:
            draft = self._asking_the_same(agent, tool, tool_input, row)
            if draft is None:
                draft = Draft(agent, StepKind.TOOL_CALL, [])
                self.drafts.append(draft)
        if draft.tool_name is None:
            draft.tool_name, draft.tool_input = tool, tool_input
        return draft


def _batch_calls(extra: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calls = extra.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield call
