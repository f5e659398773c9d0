"""How each call ended, as its own events tell. Calls that outlive them are resolved in background."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from agent_evo_dagster.trajectories.calls import Joining
from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.outcomes import Verdict, judge_batch, judge_response
from agent_evo_dagster.trajectories.types import Outcome


@dataclass(frozen=True, slots=True)
class Judged:
    """The steps, and what was found out about them. A position names a step."""

    frame: pl.DataFrame  # as frame_of_steps makes it
    step: list[int]  # the number that joining gave
    session_id: list[str]
    agent: list[str | None]
    tool_name: list[str | None]
    first: list[int]  # row that the step begins with
    start: list[int | None]  # row of PreToolUse
    end: list[int | None]  # row of PostToolUse or PostToolUseFailure
    response: list[bytes | None]  # JSON text that PostToolUse came with
    outcome: list[Outcome | None]
    reason: list[str | None]
    error: list[str | None]
    # rows of other steps that tell something about a step
    evidence: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def settle(self, position: int, verdict: Verdict, row: int | None = None) -> None:
        """Say how a call ended, and which event tells it."""
        self.outcome[position], self.reason[position] = verdict.outcome, verdict.reason
        if row is not None:
            self.evidence[position].append(row)

    def asked(self, position: int) -> str | None:
        """What a call was asked to do, as JSON text."""
        text: str | None = self.frame.get_column("tool_input")[position]
        return text


def judge(events: EventColumns, joining: Joining, steps: pl.DataFrame) -> Judged:
    """Give each call the outcome that its own events tell; null where none does."""
    # bytes: what is not looked at is never decoded
    responses = steps.get_column("tool_response").cast(pl.Binary).to_list()
    names = ("step", "session_id", "agent", "tool_name", "first", "start", "end")
    lists: dict[str, Any] = {name: steps.get_column(name).to_list() for name in names}
    verdicts = []
    others = (steps.get_column(name).to_list() for name in ("failed", "denial", "batch"))
    told = zip(
        *others, lists["step"], lists["start"], lists["end"], lists["tool_name"], responses, strict=True
    )
    for position, (failed, denial, batch, step, start, end, tool, text) in enumerate(told):
        verdict: tuple[Outcome | None, str | None, str | None] = (None, None, None)
        if failed is not None:
            verdict, responses[position] = _failure(events, failed), None
        elif end is not None:
            verdict = judge_response(tool, text)
        elif denial is not None:
            verdict = Verdict(Outcome.DENIED, "kind=PermissionDenied", events.value("error", denial))
        elif batch is not None:
            verdict = judge_batch(joining.batches[step].response, started=start is not None)
        verdicts.append(verdict)
    found = zip(*verdicts, strict=True) if verdicts else ((), (), ())
    outcome, reason, error = map(list, found)
    judged = Judged(steps, **lists, response=responses, outcome=outcome, reason=reason, error=error)
    for position, step in enumerate(judged.step) if joining.evidence else ():
        if step in joining.evidence:
            judged.evidence[position].extend(joining.evidence[step])
    return judged


def _failure(events: EventColumns, row: int) -> Verdict:
    error = events.value("error", row)
    if events.extra_of(row).get("is_interrupt") is True:
        return Verdict(Outcome.INTERRUPTED, "is_interrupt=true", error)
    return Verdict(Outcome.FAILURE, "kind=PostToolUseFailure", error)
