"""Which agents a session had, and which call started each. Not the client's own forks."""

from collections.abc import Sequence
from typing import Any, Final

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.drafts import Draft
from agent_evo_dagster.trajectories.values import parsed

_CALLERS: Final = frozenset({"Agent", "Task", "Skill"})  # tools whose call can start a subagent


def subagents(columns: EventColumns, rows: Sequence[int]) -> frozenset[str]:
    """The agents that did more than stop, or that a call names. Others are forks of the client."""
    found: set[str] = set()
    stopped: set[str] = set()
    for row in rows:
        agent = columns.agent_id[row]
        if agent is not None:
            if columns.kind[row] == "SubagentStop":
                stopped.add(agent)
            else:
                found.add(agent)
    if not stopped <= found:
        calls = (row for row in rows if columns.tool_name[row] in _CALLERS)
        named = {_named_by(parsed(columns.tool_response[row])) for row in calls}
        found.update(agent for agent in named if agent is not None and agent in stopped)
    return frozenset(found)


def calls_of_agents(columns: EventColumns, drafts: Sequence[Draft]) -> dict[str, Draft]:
    """The call that started each agent: the one whose response names it, else one open at its start."""
    calls = [draft for draft in drafts if draft.tool_name in _CALLERS]
    callers = {agent: call for call in calls if (agent := _named_by(call.response)) is not None}
    waiting = [call for call in calls if call.start is not None and _named_by(call.response) is None]
    for draft in drafts:
        row = draft.rows[0] if draft.rows else None
        if row is None or columns.kind[row] != "SubagentStart":
            continue
        agent = columns.agent_id[row]
        if (
            agent is not None
            and agent not in callers
            and (call := _open_at(columns, waiting, row)) is not None
        ):
            callers[agent] = call
            waiting.remove(call)
    return callers


def _named_by(response: Any) -> str | None:
    agent = response.get("agentId") if isinstance(response, dict) else None
    return agent if isinstance(agent, str) else None


def _open_at(columns: EventColumns, calls: Sequence[Draft], row: int) -> Draft | None:
    """The oldest of `calls` open at `row`; one that asked for this type of agent comes first."""
    agent, wanted = columns.agent_id[row], columns.agent_type[row]
    is_open = [
        call
        for call in calls
        if call.agent != agent and (call.start or 0) < row and (call.end is None or call.end > row)
    ]
    same_type = [call for call in is_open if _type_asked(call) == wanted]
    return next(iter(same_type or is_open), None)


def _type_asked(call: Draft) -> str | None:
    value = parsed(call.tool_input)
    asked = value.get("subagent_type") if isinstance(value, dict) else None
    return asked if isinstance(asked, str) else None
