"""Calls that failed because a file or folder is not there. Not other failures of file tools."""

import re
from collections import defaultdict
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

# Only read in the error of a call whose structured outcome is already a failure.
_ABSENT = re.compile(
    r"(?:file|directory|path) does not exist|no such file or directory|\bENOENT\b", re.IGNORECASE
)
_NAMED = re.compile(r"['\"]?([^\s'\":]+)['\"]?: no such file or directory", re.IGNORECASE)
_NAMED_LAST = re.compile(r"no such file or directory:? ['\"]([^\s'\"]+)['\"]", re.IGNORECASE)
_MAX_ERROR = 4000


@dataclass(frozen=True, slots=True)
class MissingFile:
    """Failed calls whose error says that what they name does not exist."""

    name: str = "missing_file"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill and missing path."""
        groups: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in sessions.calls:
            if call.failed and (path := missing_path(call)):
                groups[call.skill or "", path].append(call)
        return [self._finding(path, group) for (_, path), group in groups.items()]

    def _finding(self, path: str, calls: list[Call]) -> Finding:
        sessions = sorted({call.session_id for call in calls})
        from_input = all(call.path == path for call in calls)
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if len(calls) > 1 else Severity.INFO,
            summary=f"{excerpt(path)} does not exist: {plural(len(calls), 'call')} of "
            f"{', '.join(sorted({call.tool for call in calls}))} in {plural(len(sessions), 'session')}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=0.95 if from_input else 0.7,
            data={
                "path": excerpt(path, 300),
                "path_from": "input" if from_input else "error",
                "sessions": sessions,
            },
            subject=(path,),
            skill=calls[0].skill,
        )


def missing_path(call: Call) -> str | None:
    """The path that a failed call did not find: from its input, else as its error names it."""
    error = (call.error or "")[:_MAX_ERROR]
    if not _ABSENT.search(error):
        return None
    if call.path:
        return call.path
    named = _NAMED_LAST.search(error) or _NAMED.search(error)
    return named.group(1) if named else None
