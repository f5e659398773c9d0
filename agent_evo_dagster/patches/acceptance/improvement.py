"""The gate's rule: better beyond the interval, and no task worse beyond noise."""

from dataclasses import dataclass

from agent_evo_dagster.patches.evidence import Measured
from agent_evo_dagster.patches.types import GateVerdict


@dataclass(frozen=True, slots=True)
class Improvement:
    """Accept only what is surely better on the whole and surely worse nowhere."""

    name: str = "improvement"

    def verdict(self, measured: Measured) -> tuple[GateVerdict, str]:
        """A regression outweighs any mean."""
        shown = (
            f"reward {measured.baseline:.3f} -> {measured.candidate:.3f} on {measured.n} tasks, difference "
            f"{measured.difference:+.3f} [{measured.low:+.3f}, {measured.high:+.3f}]"
        )
        if measured.regressions:
            return GateVerdict.REJECT, f"{_named(measured)}; {shown}"
        if measured.low <= 0:
            return GateVerdict.REJECT, f"not better beyond the interval: {shown}"
        return GateVerdict.ACCEPT, f"better, and no task worse beyond noise: {shown}"


def _named(measured: Measured) -> str:
    tasks = {task.task_id: task for task in measured.tasks}
    worst = [
        f"{name} {tasks[name].baseline:.2f} -> {tasks[name].candidate:.2f}"
        for name in list(measured.regressions)[:5]
    ]
    return f"{len(measured.regressions)} tasks worse beyond noise: {', '.join(worst)}"
