"""Kinds of failure: one tool and one normalised error, wherever it occurred. Not what was done about it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

_OFTEN = 3


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """Every kind of failure, with its count, first and last time, sessions and skills."""

    name: str = "failure_signature"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each tool and error signature; its target is the skill that met it most."""
        groups: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if call.failed:
                groups[call.tool, call.signature].append(call)
        return [self._finding(group) for group in groups.values()]

    def _finding(self, calls: list[Call]) -> Finding:
        first, seen = calls[0], sorted({call.session_id for call in calls})
        skills = Counter(call.skill for call in calls if call.skill)
        often = len(calls) >= _OFTEN or len(seen) > 1
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if often else Severity.INFO,
            summary=f"{first.tool} failed {times(len(calls))} in {plural(len(seen), 'session')} "
            f"with: {first.signature}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=1 - 0.6 * 0.8 ** (len(calls) - 1) * 0.6 ** (len(seen) - 1),
            data={
                "tool": first.tool,
                "signature": first.signature,
                "input": excerpt(first.input, 300),
                **span(calls),
                "sessions": seen,
                "skills": dict(sorted(skills.items())),
            },
            subject=(first.tool, first.signature),
            skill=min(skills, key=lambda skill: (-skills[skill], skill), default=None),
        )


def span(calls: Sequence[Call]) -> dict[str, str | None]:
    """The first and the last time of the calls, as ISO 8601 text; null where no time is known."""
    times_of = sorted(call.started_at for call in calls if call.started_at is not None)
    return {
        "first": times_of[0].isoformat() if times_of else None,
        "last": times_of[-1].isoformat() if times_of else None,
    }
