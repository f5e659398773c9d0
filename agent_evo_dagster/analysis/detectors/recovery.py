"""A failed call followed by a similar one that succeeds: what fixed it, and how many calls it cost."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_evo_dagster.analysis.calls import Call, by_trajectory
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity

_WORDS = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*")
_MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Recovery:
    """A failure, the success that followed, and the calls from after the one up to and with the other."""

    failure: Call
    success: Call
    cost: int


@dataclass(frozen=True, slots=True)
class FailureRecovery:
    """Pairs of one tool within `window` calls whose inputs share at least `similarity` of their words."""

    name: str = "failure_recovery"
    window: int = 12
    similarity: float = 0.4

    def find(self, calls: Sequence[Call]) -> list[Finding]:
        """One finding for each skill, tool and error signature."""
        groups: dict[tuple[str, str, str], list[Recovery]] = defaultdict(list)
        for trajectory in by_trajectory(list(calls)):
            for pair in self.pairs(trajectory):
                groups[pair.failure.skill or "", pair.failure.tool, pair.failure.signature].append(pair)
        return [self._finding(group) for group in groups.values()]

    def pairs(self, trajectory: Sequence[Call]) -> list[Recovery]:
        """The first failure before each success; failures between the two belong to the same pair."""
        found: dict[str, Recovery] = {}
        for position, call in enumerate(trajectory):
            if call.failed and (success := self._success_after(trajectory, position)):
                found.setdefault(
                    trajectory[success].step_id, Recovery(call, trajectory[success], success - position)
                )
        return list(found.values())

    def _success_after(self, trajectory: Sequence[Call], position: int) -> int | None:
        failure = trajectory[position]
        for ahead in range(position + 1, min(len(trajectory), position + 1 + self.window)):
            later = trajectory[ahead]
            if later.succeeded and later.tool == failure.tool and self._similar(failure, later):
                return ahead
        return None

    def _similar(self, one: Call, other: Call) -> bool:
        if one.path and other.path:
            return PurePosixPath(one.path).name == PurePosixPath(other.path).name
        first, second = set(_WORDS.findall(one.input)), set(_WORDS.findall(other.input))
        shared = len(first & second)
        return one.input == other.input or 0 < shared >= self.similarity * len(first | second)

    def _finding(self, pairs: list[Recovery]) -> Finding:
        failure = pairs[0].failure
        costs = [pair.cost for pair in pairs]
        retried = sum(pair.failure.input == pair.success.input for pair in pairs)
        same = f", {times(retried)} with the same input" if retried else ""
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if sum(costs) >= 5 else Severity.INFO,
            summary=f"{failure.tool} failed {times(len(pairs))} ({failure.signature}) "
            f"and then succeeded {_later(costs)}{same}",
            evidence=[
                item for pair in pairs for call in (pair.failure, pair.success) for item in call.evidence
            ],
            count=len(pairs),
            confidence=0.6 if len(pairs) == 1 else 0.8,
            data={
                "tool": failure.tool,
                "signature": failure.signature,
                "calls_spent": sum(costs),
                "input_unchanged": retried,
                "examples": [
                    {"failed": excerpt(pair.failure.input, 300), "worked": excerpt(pair.success.input, 300)}
                    for pair in pairs[:_MAX_EXAMPLES]
                ],
            },
            skill=failure.skill,
        )


def _later(costs: list[int]) -> str:
    least, most = min(costs), max(costs)
    return f"{plural(most, 'call')} later" if least == most else f"{least} to {most} calls later"
