"""A file sought in one folder and used, in the same session, in another. Not files that are nowhere."""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_evo_dagster.analysis.calls import Call, by_trajectory
from agent_evo_dagster.analysis.detectors.missing_file import missing_path
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

_PATHS = re.compile(r"[^\s'\"`=:;|&<>(),]+")


@dataclass(frozen=True, slots=True)
class Astray:
    """A call that did not find `wrong`, and the one that used the same name at `right`."""

    failure: Call
    success: Call
    wrong: PurePosixPath
    right: PurePosixPath


@dataclass(frozen=True, slots=True)
class WrongFolder:
    """Missing files whose name a call of the same agent did find in another folder."""

    name: str = "wrong_folder"

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill, wrong folder and right folder."""
        groups: dict[tuple[str, str, str], list[Astray]] = defaultdict(list)
        for trajectory in by_trajectory(sessions.calls):
            for call in trajectory:
                if call.failed and (path := missing_path(call)) and (found := _elsewhere(trajectory, path)):
                    pair = Astray(call, found[0], PurePosixPath(path), found[1])
                    groups[call.skill or "", str(pair.wrong.parent), str(pair.right.parent)].append(pair)
        return [self._finding(group) for group in groups.values()]

    def _finding(self, pairs: list[Astray]) -> Finding:
        first = pairs[0]
        names = sorted({pair.wrong.name for pair in pairs})
        wrong, right = str(first.wrong.parent), str(first.right.parent)
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if len(pairs) > 1 else Severity.INFO,
            summary=f"{', '.join(excerpt(name, 60) for name in names[:3])} sought in {excerpt(wrong)} "
            f"({plural(len(pairs), 'failed call')}); it is in {excerpt(right)}",
            evidence=[
                item for pair in pairs for call in (pair.failure, pair.success) for item in call.evidence
            ],
            count=len(pairs),
            confidence=0.7 if len(pairs) == 1 else 0.85,
            data={
                "path": excerpt(str(first.wrong), 300),
                "found_at": excerpt(str(first.right), 300),
                "names": [excerpt(name, 100) for name in names[:10]],
                "sessions": sorted({pair.failure.session_id for pair in pairs}),
            },
            subject=(wrong, right),
            skill=first.failure.skill,
        )


def _elsewhere(trajectory: list[Call], missing: str) -> tuple[Call, PurePosixPath] | None:
    """The first successful call that names the same file in another folder, and that place."""
    wrong = PurePosixPath(missing)
    for call in trajectory:
        if not call.succeeded or wrong.name not in call.input:
            continue
        for text in [call.path] if call.path else _PATHS.findall(call.command or ""):
            path = PurePosixPath(text)
            if path.name == wrong.name and path != wrong and len(path.parts) > 1:
                return call, path
    return None
