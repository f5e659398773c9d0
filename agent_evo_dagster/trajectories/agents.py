"""Which call started each agent. Which agents there are, columns tell."""

from collections import defaultdict
from collections.abc import Sequence

from agent_evo_dagster.trajectories.columns import CALLERS, EventColumns, agent_named
from agent_evo_dagster.trajectories.judged import Judged
from agent_evo_dagster.trajectories.values import parsed


def calls_of_agents(events: EventColumns, steps: Judged) -> dict[tuple[str, str | None], int]:
    """The call that started each agent: the one whose response names it, else one open at its start."""
    callers: dict[tuple[str, str | None], int] = {}
    waiting: dict[str, list[int]] = defaultdict(list)
    calls = [position for position, tool in enumerate(steps.tool_name) if tool in CALLERS]
    for position in sorted(calls, key=steps.first.__getitem__):
        agent = agent_named(steps.response[position])
        if agent is not None:
            callers[steps.session_id[position], agent] = position
        elif steps.start[position] is not None:
            waiting[steps.session_id[position]].append(position)
    for row, kind in enumerate(events.kind):
        session, agent = events.session_id[row], events.agent[row]
        if kind == "SubagentStart" and agent is not None and (session, agent) not in callers:
            call = _open_at(events, steps, waiting[session], row)
            if call is not None:
                callers[session, agent] = call
                waiting[session].remove(call)
    return callers


def _open_at(events: EventColumns, steps: Judged, calls: Sequence[int], row: int) -> int | None:
    """The oldest of `calls` open at `row`; one that asked for this type of agent comes first."""
    wanted = events.value("agent_type", row)
    is_open = [
        call
        for call in calls
        if steps.agent[call] != events.agent[row]
        and (steps.start[call] or 0) < row
        and (steps.end[call] is None or (steps.end[call] or 0) > row)
    ]
    same_type = [call for call in is_open if _type_asked(steps, call) == wanted]
    return next(iter(same_type or is_open), None)


def _type_asked(steps: Judged, call: int) -> str | None:
    value = parsed(steps.asked(call))
    asked = value.get("subagent_type") if isinstance(value, dict) else None
    return asked if isinstance(asked, str) else None
