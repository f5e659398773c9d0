"""Skills and tools that were called and do not exist. Not files and commands."""

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

# Read in the error of a call whose structured outcome is a failure; the client's own words.
_UNKNOWN = re.compile(
    r"\s*(?:<tool_use_error>)?\s*(?:Error: )?(?:Unknown (skill): |No such (tool) available: )([^\s<]{1,120})"
)


@dataclass(frozen=True, slots=True)
class UnknownName:
    """Failed calls of which the client says that there is no such skill or tool."""

    name: str = "unknown_name"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill that was followed, and name that is unknown."""
        groups: dict[tuple[str, str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if call.failed and (found := _UNKNOWN.match(call.error or "")):
                groups[call.skill or "", found[1] or found[2], found[3]].append(call)
        known = {
            "skill": {skill for skill, _ in sessions.skills},
            "tool": {call.tool for call in sessions.calls if call.succeeded},
        }
        return [self._finding(what, name, known[what], group) for (_, what, name), group in groups.items()]

    def _finding(self, what: str, name: str, known: Collection[str], calls: list[Call]) -> Finding:
        seen = sorted({call.session_id for call in calls})
        nearest = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
        meant = f"; the nearest that exists is {nearest[0]}" if nearest else ""
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING,
            summary=f"the {what} {excerpt(name)} does not exist: called {times(len(calls))} "
            f"in {plural(len(seen), 'session')}{meant}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=0.95,
            data={"what": what, "name": name, "nearest": nearest[0] if nearest else None, "sessions": seen},
            subject=(what, name),
            skill=calls[0].skill,
        )
