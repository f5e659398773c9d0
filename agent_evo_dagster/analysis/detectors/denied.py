"""Calls that a permission refused, by a person or by a rule. Not whether it should have."""

from collections import defaultdict
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.commands import head_of
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions
from agent_evo_dagster.trajectories.types import Outcome


@dataclass(frozen=True, slots=True)
class Denied:
    """Refused calls of one tool, and of one program where it is a command."""

    name: str = "denied"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill, tool and program."""
        groups: dict[tuple[str, str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if call.outcome is Outcome.DENIED:
                groups[call.skill or "", call.tool, head_of(call.command)].append(call)
        return [self._finding(head, group) for (_, _, head), group in groups.items()]

    def _finding(self, head: str, calls: list[Call]) -> Finding:
        first, seen = calls[0], sorted({call.session_id for call in calls})
        what = f"{first.tool} ({excerpt(head, 80)})" if head else first.tool
        said = f": {excerpt(first.error)}" if first.error else ""
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if len(calls) > 1 else Severity.INFO,
            summary=f"{what} was refused {times(len(calls))} in {plural(len(seen), 'session')}{said}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=0.9,  # the outcome is structured; what to do about it is not said
            data={
                "tool": first.tool,
                "command": excerpt(head, 200),
                "input": excerpt(first.input, 300),
                "reason": excerpt(first.error or "", 300),
                "sessions": seen,
            },
            subject=(first.tool, head),
            skill=first.skill,
        )
