"""The same call made very often in a session, whatever came of it: polling, waiting, re-reading."""

from collections import defaultdict
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.commands import head_of
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """Calls with one tool and one normal input made at least `minimum` times in a session, failures apart."""

    name: str = "repeated_call"
    minimum: int = 5

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each session, skill, tool and input."""
        groups: dict[tuple[str, str, str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if not call.failed:
                groups[call.session_id, call.skill or "", call.tool, call.input].append(call)
        return [self._finding(group) for group in groups.values() if len(group) >= self.minimum]

    def _finding(self, calls: list[Call]) -> Finding:
        first = calls[0]
        return make_finding(
            "session",
            self.name,
            severity=Severity.INFO,
            summary=f"{first.tool} was called {len(calls)} times with the same input in one session: "
            f"{excerpt(first.input)}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=0.6,
            data={"tool": first.tool, "input": excerpt(first.input, 300), "session": first.session_id},
            subject=(first.tool, head_of(first.command) or first.input),
            skill=first.skill,
        )
