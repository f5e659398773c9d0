"""Waiting by sleeping and looking again: commands that sleep and then read. Not waiting with a tool."""

from collections import defaultdict
from dataclasses import dataclass

from agent_evo_dagster.analysis.calls import Call
from agent_evo_dagster.analysis.commands import programs
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import duration, excerpt, plural
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

_LOOK_NAMES = """
cat curl df du find free grep head jobs kubectl less ls nvidia-smi npu-smi pgrep ps rg squeue stat tail top wc
"""
_LOOKS = frozenset(_LOOK_NAMES.split())


@dataclass(frozen=True, slots=True)
class Polling:
    """At least `minimum` commands in a session that sleep and look with the same program."""

    name: str = "polling"
    minimum: int = 3

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill and program, over the sessions that poll so often."""
        groups: dict[tuple[str, str], dict[str, list[Call]]] = defaultdict(lambda: defaultdict(list))
        for call in sessions.calls:
            if look := look_after_sleep(call):
                groups[call.skill or "", look][call.session_id].append(call)
        found = []
        for (_, look), by_session in groups.items():
            often = [calls for calls in by_session.values() if len(calls) >= self.minimum]
            if often:
                found.append(self._finding(look, often))
        return found

    def _finding(self, look: str, sessions: list[list[Call]]) -> Finding:
        calls = [call for session in sessions for call in session]
        slept = sum(slept_seconds(call) for call in calls)
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if len(calls) >= 2 * self.minimum else Severity.INFO,
            summary=f"{plural(len(calls), 'command')} slept and then looked with {look} in "
            f"{plural(len(sessions), 'session')}, {duration(slept)} of sleep in all: "
            f"{excerpt(calls[0].input)}",
            evidence=[item for call in calls for item in call.evidence],
            count=len(calls),
            confidence=0.8,
            data={
                "command": f"sleep, {look}",
                "input": excerpt(calls[0].input, 300),
                "slept_seconds": slept,
                "sessions": sorted({call.session_id for call in calls}),
            },
            subject=("sleep", look),
            skill=calls[0].skill,
        )


def look_after_sleep(call: Call) -> str | None:
    """The program that a command looks with, where it sleeps before or after; None for any other call."""
    found = programs(call.command or "") if "sleep" in (call.command or "") else []
    if not any(program.seconds for program in found):
        return None
    return next((program.name for program in found if program.name in _LOOKS), None)


def slept_seconds(call: Call) -> float:
    """The seconds that a command asks to sleep, each `sleep` in it counted once."""
    return sum(program.seconds or 0.0 for program in programs(call.command or ""))
