"""A failed call followed by a similar one that succeeds: what fixed it, and how many calls it cost."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_evo_dagster.analysis.calls import Call, by_trajectory
from agent_evo_dagster.analysis.findings import Json, make_finding
from agent_evo_dagster.analysis.text import excerpt, plural, times
from agent_evo_dagster.analysis.types import Finding, Severity
from agent_evo_dagster.analysis.view import Sessions

_WORDS = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*")
_MAX_EXAMPLES = 3
_MAX_WORDS = 8  # that tell what changed
_WHOLE_WORDS = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Recovery:
    """A failure, the success that followed, and the calls from after the one up to and with the other."""

    failure: Call
    success: Call
    cost: int
    between: tuple[Call, ...] = ()  # calls of other kinds or inputs that succeeded between the two
    failures: int = 1  # that one, and those between that ended in the same error


@dataclass(frozen=True, slots=True)
class FailureRecovery:
    """Pairs of one tool within `window` calls whose inputs share at least `similarity` of their words."""

    name: str = "failure_recovery"
    window: int = 12
    similarity: float = 0.4

    def find(self, sessions: Sessions) -> list[Finding]:
        """One finding for each skill, tool and error signature."""
        groups: dict[tuple[str, str, str], list[Recovery]] = defaultdict(list)
        for trajectory in by_trajectory(sessions.calls):
            for pair in self.pairs(trajectory):
                groups[pair.failure.skill or "", pair.failure.tool, pair.failure.signature].append(pair)
        return [self._finding(group) for group in groups.values()]

    def pairs(self, trajectory: Sequence[Call]) -> list[Recovery]:
        """The first failure before each success; failures between the two belong to the same pair."""
        found: dict[str, Recovery] = {}
        for position, call in enumerate(trajectory):
            if call.failed and (success := self._success_after(trajectory, position)):
                done = trajectory[success]
                since = trajectory[position + 1 : success]
                between = tuple(one for one in since if one.succeeded)
                again = sum(_same_error(one, call) for one in since)
                pair = Recovery(call, done, success - position, between, 1 + again)
                found.setdefault(done.step_id, pair)
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
        failed = times(sum(pair.failures for pair in pairs))
        return make_finding(
            "session",
            self.name,
            severity=Severity.WARNING if sum(costs) >= 5 else Severity.INFO,
            summary=f"{failure.tool} failed {failed} ({failure.signature}); "
            f"{_succeeded(len(pairs), retried)} {_later(costs)}",
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
                **_fix_of(pairs[-1]),
            },
            subject=(failure.tool, failure.signature),
            skill=failure.skill,
        )


def _fix_of(pair: Recovery) -> dict[str, Json]:
    """What the last of the pairs shows to have helped: words that changed, or the calls made in between."""
    if pair.failure.input == pair.success.input:
        did = [f"{call.tool}: {excerpt(call.input, 100)}" for call in pair.between[-_MAX_EXAMPLES:]]
        return {"fixed_by": "calls in between" if did else "trying again", "calls_between": did}
    before, after = (dict.fromkeys(_WHOLE_WORDS.findall(text)) for text in _inputs(pair))
    return {
        "fixed_by": "another input",
        "removed": [excerpt(word) for word in before if word not in after][:_MAX_WORDS],
        "added": [excerpt(word) for word in after if word not in before][:_MAX_WORDS],
    }


def _same_error(one: Call, failure: Call) -> bool:
    return one.failed and (one.tool, one.signature) == (failure.tool, failure.signature)


def _succeeded(pairs: int, retried: int) -> str:
    """What succeeded: another input is another call, which may not do what the first was to do."""
    if retried == pairs:
        return "the same input succeeded"
    if retried == 0:
        return "a similar call with another input succeeded"
    return f"similar calls succeeded, {retried} of {pairs} with the same input,"


def _inputs(pair: Recovery) -> tuple[str, str]:
    return pair.failure.path or pair.failure.input, pair.success.path or pair.success.input


def _later(costs: list[int]) -> str:
    least, most = min(costs), max(costs)
    return f"{plural(most, 'call')} later" if least == most else f"{least} to {most} calls later"
