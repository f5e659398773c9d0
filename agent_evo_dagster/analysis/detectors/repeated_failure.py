"""The same call failing again and again in a session: the agent did not learn from the first answer."""

from collections import defaultdict
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """Calls with one tool and one normal input that failed at least `minimum` times in a session."""

    name: str = "repeated_failure"
    minimum: int = 2

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill, tool and input."""
        repeated: dict[tuple[str, str, str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if call.failed:
                repeated[call.session_id, call.skill or "", call.tool, call.input].append(call)
        groups: dict[tuple[str, str, str], list[list[Call]]] = defaultdict(list)
        for (_, *key), failures in repeated.items():
            if len(failures) >= self.minimum:
                groups[key[0], key[1], key[2]].append(failures)
        return [self._finding(group) for group in groups.values()]

    def _finding(self, sessions: list[list[Call]]) -> Finding:
        failures = [call for session in sessions for call in session]
        first = failures[0]
        worst = max(len(session) for session in sessions)
        return make_finding(
            "session",
            self.name,
            severity=Severity.ERROR if worst >= 2 * self.minimum else Severity.WARNING,
            summary=f"{first.tool} failed {len(failures)} times with the same input in "
            f"{plural(len(sessions), 'session')} ({first.signature}): {excerpt(first.input)}",
            evidence=[item for call in failures for item in call.evidence],
            count=len(failures),
            confidence=1 - 0.5 ** (worst - 1) * 0.4,
            data={
                "tool": first.tool,
                "input": excerpt(first.input, 300),
                "signatures": sorted({call.signature for call in failures}),
                "sessions": sorted({call.session_id for call in failures}),
                "most_in_one_session": worst,
            },
            subject=(first.tool, first.input),
            skill=first.skill,
        )
