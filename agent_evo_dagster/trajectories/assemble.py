"""The joining of one session's events into steps. How a call ended is told in outcomes."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import orjson

from agent_evo_dagster.trajectories.agents import subagents
from agent_evo_dagster.trajectories.calls import CallBook
from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.drafts import Draft
from agent_evo_dagster.trajectories.types import StepKind

_PROMPTS: Final = frozenset({"UserPromptSubmit", "UserPromptExpansion"})
_COMMAND_FIELDS: Final = ("expansion_type", "command_name", "command_args", "command_source")


def assemble(columns: EventColumns, rows: Sequence[int]) -> list[Draft]:
    """The steps of the session whose events are `rows`, of all its agents, each agent's in order."""
    agents = subagents(columns, rows)
    calls = CallBook(columns)
    others = _Others(columns)
    late: list[tuple[int, str | None]] = []
    for row in rows:
        owner = columns.agent_id[row]
        agent = owner if owner in agents else None
        kind = columns.kind[row]
        if kind in CallBook.KINDS:
            calls.take(row, agent)
        elif kind in CallBook.LATE_KINDS:
            late.append((row, agent))
        else:
            others.take(row, agent)
    calls.pair_unnamed()
    for row, agent in late:
        if not calls.take_late(row, agent):
            others.take(row, agent)
    drafts = calls.drafts + others.drafts
    drafts.sort(key=lambda draft: (draft.first(), draft.place))
    return drafts


class _Others:
    """Prompts, messages and marks."""

    def __init__(self, columns: EventColumns) -> None:
        self.drafts: list[Draft] = []
        self._columns = columns
        self._prompts: dict[str | None, Draft] = {}
        self._messages: dict[tuple[str | None, Any], Draft] = {}

    def take(self, row: int, agent: str | None) -> None:
        kind = self._columns.kind[row]
        if kind in _PROMPTS:
            self._prompt(row, agent, kind)
        elif kind == "MessageDisplay":
            self._message(row, agent)
        else:
            self.drafts.append(Draft(agent, StepKind.LIFECYCLE, [row]))

    def _prompt(self, row: int, agent: str | None, kind: str) -> None:
        last = self._prompts.get(agent)
        if last is None or not self._same_prompt(last, row, kind):
            last = self._prompts[agent] = Draft(agent, StepKind.PROMPT, [])
            self.drafts.append(last)
        last.rows.append(row)
        if kind == "UserPromptExpansion":
            extra = self._columns.extra_of(row)
            command = {name: extra[name] for name in _COMMAND_FIELDS if name in extra}
            last.tool_input = orjson.dumps(command).decode()

    def _same_prompt(self, last: Draft, row: int, kind: str) -> bool:
        columns, other = self._columns, last.rows[-1]
        if any(columns.kind[known] == kind for known in last.rows):
            return False
        if columns.prompt_id[row] is not None or columns.prompt_id[other] is not None:
            return columns.prompt_id[row] == columns.prompt_id[other]
        return columns.text[row] == columns.text[other]

    def _message(self, row: int, agent: str | None) -> None:
        key = (agent, self._columns.extra_of(row).get("message_id"))
        known = self._messages.get(key) if key[1] is not None else None
        if known is None:
            known = self._messages[key] = Draft(agent, StepKind.MESSAGE, [])
            self.drafts.append(known)
        known.rows.append(row)


def by_agent(drafts: Sequence[Draft]) -> dict[str | None, list[Draft]]:
    """The drafts of each agent, the main one under None."""
    grouped: dict[str | None, list[Draft]] = defaultdict(list)
    for draft in drafts:
        grouped[draft.agent].append(draft)
    return grouped
