"""Time, tokens and cost of each skill and of its dearest steps. Not whether it is too much."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.findings import Json, make_finding
from agent_evo_dagster.analysis.text import duration, excerpt, number, plural
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions, Spent, Stretch

_DEAREST = 3


@dataclass(frozen=True, slots=True)
class Effort:
    """What following a skill took, of all that the round's sessions took."""

    name: str = "effort"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill that was followed."""
        by_skill: dict[str, list[Stretch]] = defaultdict(list)
        for stretch in sessions.stretches:
            if stretch.skill:
                by_skill[stretch.skill].append(stretch)
        calls = {call.step_id: call for call in sessions.calls}
        whole = sum(_seconds(call) for call in sessions.calls)
        return [self._finding(skill, by_skill[skill], calls, sessions, whole) for skill in sorted(by_skill)]

    def _finding(
        self, skill: str, stretches: list[Stretch], calls: dict[str, Call], sessions: Sessions, whole: float
    ) -> Finding:
        steps = [step for stretch in stretches for step in stretch.step_ids]
        own = [calls[step] for step in steps if step in calls]
        spent = reduce(add, (sessions.spent[step] for step in steps if step in sessions.spent), Spent())
        seconds = sum(map(_seconds, own))
        dearest = sorted(own, key=lambda call: (-_seconds(call), call.step_id))[:_DEAREST]
        share = seconds / whole if whole else 0.0
        wall = sum(map(_wall, stretches))
        return make_finding(
            "session",
            self.name,
            severity=Severity.INFO,
            summary=f"{skill} took {plural(len(own), 'call')} in {plural(len(stretches), 'segment')}: "
            f"{_time(seconds, share, wall)}{_tokens(spent)}",
            evidence=[*(stretch.segment_id for stretch in stretches), *(call.step_id for call in dearest)],
            count=len(stretches),
            confidence=1.0 if all(call.duration_ms is not None for call in own) else 0.5,
            data={
                "calls": len(own),
                "failures": sum(call.failed for call in own),
                "tool_seconds": round(seconds, 3),
                "share_of_tool_time": round(share, 4),
                "wall_seconds": round(wall, 3),
                "tokens_read": spent.read,
                "tokens_written": spent.written,
                "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 6),
                "dearest_steps": _dearest(dearest, sessions),
            },
            subject=(skill,),
            skill=skill,
        )


def _dearest(calls: Sequence[Call], sessions: Sessions) -> list[Json]:
    return [
        {
            "step": call.step_id,
            "tool": call.tool,
            "input": excerpt(call.input, 120),
            "seconds": round(_seconds(call), 3),
            "tokens": sessions.spent.get(call.step_id, Spent()).tokens,
        }
        for call in calls
    ]


def _time(seconds: float, share: float, wall: float) -> str:
    """Seconds of tools where calls tell them; else the time from first to last event of the segments."""
    if not seconds:
        return f"{duration(wall)} from first to last event (no call tells how long it took)"
    return f"{duration(seconds)} of tools ({number(100 * share, 2)} % of all)"


def _tokens(spent: Spent) -> str:
    if not spent.tokens:
        return ""
    cost = "" if spent.cost_usd is None else f", {number(spent.cost_usd)} USD"
    return f", {number(spent.tokens)} tokens{cost}"


def _seconds(call: Call) -> float:
    return (call.duration_ms or 0.0) / 1000


def _wall(stretch: Stretch) -> float:
    if stretch.started_at is None or stretch.ended_at is None:
        return 0.0
    return max(0.0, (stretch.ended_at - stretch.started_at).total_seconds())
