"""Runs that ended for want of memory, told by the error in the log or by how the process died. No metrics."""

from dataclasses import dataclass

from agent_evo_dagster.analysis.diagnoses.protocol import hint_of, training_finding
from agent_evo_dagster.analysis.series import Run
from agent_evo_dagster.analysis.text import excerpt
from agent_evo_dagster.analysis.types import Finding, Severity

_MAX_LINES = 2000


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """An error of memory in the log's last lines; an exit by a kill without one is only a sign of it."""

    name: str = "out_of_memory"

    def find(self, run: Run) -> list[Finding]:
        """At most one finding."""
        limits, ending = run.thresholds.out_of_memory, run.ending
        line = next(
            (line for line in ending.log.splitlines()[-_MAX_LINES:] if _told(line, limits.words)), None
        )
        killed = ending.exit_code in limits.exit_codes
        if line is None and not killed:
            return []
        reward, code = run.get("reward"), ending.exit_code
        last = f" after step {reward.steps[-1]}" if reward.steps else " before its first step"
        why = excerpt(line) if line else f"it was killed (exit code {code}), and the log names no error"
        finding = training_finding(
            self.name,
            run,
            severity=Severity.ERROR if line else Severity.WARNING,
            summary=f"the run ended for want of memory{last}: {why}",
            series=(reward,),
            confidence=0.95 if line else 0.5,
            data={"line": excerpt(line, 300) if line else None, "exit_code": code},
            look_at=limits.look_at,
            hint=hint_of(limits.move, run, "the run ran out of memory"),
        )
        return [finding]


def _told(line: str, words: tuple[str, ...]) -> bool:
    lower = line.lower()
    return any(word.lower() in lower for word in words)
