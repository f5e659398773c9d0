"""The end of calls that outlive their own events: background jobs, and calls that never came back."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.judged import Judged
from agent_evo_dagster.trajectories.outcomes import Verdict, because
from agent_evo_dagster.trajectories.types import Outcome
from agent_evo_dagster.trajectories.values import parsed

_REPORTS: Final = frozenset({"TaskOutput", "BashOutput"})
_STOPS: Final = frozenset({"TaskStop", "KillShell"})
_ID_FIELDS: Final = ("task_id", "taskId", "bash_id", "shell_id", "shellId")
_STATUS: Final = {
    "completed": Outcome.SUCCESS,
    "failed": Outcome.FAILURE,
    "killed": Outcome.INTERRUPTED,
    "stopped": Outcome.INTERRUPTED,
    "cancelled": Outcome.INTERRUPTED,
}
# Kinds that show, when they come after a call of the same agent that has no end, that it never will have one.
_AGENT_IS_PAST: Final = frozenset({"Stop", "StopFailure", "SubagentStop", "UserPromptSubmit"})


def resolve_background(events: EventColumns, steps: Judged) -> None:
    """Give pending calls the outcome that a later result with the same id, in the session, tells."""
    in_order = sorted(
        (position for position, outcome in enumerate(steps.outcome) if outcome is not None),
        key=steps.first.__getitem__,
    )
    pending = {
        (steps.session_id[position], job): position
        for position in in_order
        if steps.outcome[position] is Outcome.PENDING and (job := _job_of(steps, position)) is not None
    }
    if not pending:
        return
    for position in in_order:
        end = steps.end[position]
        if steps.outcome[position] is Outcome.SUCCESS and end is not None:
            job, verdict = _told_by(steps, position)
            key = steps.session_id[position], job or ""
            if verdict is not None and key in pending and end > steps.first[pending[key]]:
                steps.settle(pending.pop(key), verdict, end)
    for row, kind in enumerate(events.kind):
        if kind == "SubagentStop":
            key = events.session_id[row], events.agent[row] or ""
            if key in pending:
                steps.settle(pending.pop(key), Verdict(Outcome.SUCCESS, "kind=SubagentStop"), row)


def close_dangling(events: EventColumns, steps: Judged, over: Collection[str]) -> None:
    """Calls without an end: interrupted where the session or the agent's turn is over, else pending.

    `over` names sessions that are over though no SessionEnd says so (their client was killed).
    """
    dangling = [p for p, start in enumerate(steps.start) if start is not None and steps.outcome[p] is None]
    if not dangling:
        return
    past, ended = _past_rows(events)
    for position in dangling:
        session, start = steps.session_id[position], steps.start[position] or 0
        known = past.get((session, steps.agent[position]), -1), ended.get(session, -1)
        closer = next((row for row in known if row > start), None)
        if closer is not None:
            verdict = Verdict(Outcome.INTERRUPTED, because("kind", events.kind[closer]))
        elif session in over:
            verdict = Verdict(Outcome.INTERRUPTED, "session=over")
        else:
            verdict = Verdict(Outcome.PENDING, "kind=PreToolUse")
        steps.settle(position, verdict, closer)


def _past_rows(events: EventColumns) -> tuple[dict[tuple[str, str | None], int], dict[str, int]]:
    """The last row that shows each agent to be past its calls, and the last SessionEnd of each session."""
    past: dict[tuple[str, str | None], int] = {}
    ended: dict[str, int] = {}
    for row, kind in enumerate(events.kind):
        if kind == "SessionEnd":
            ended[events.session_id[row]] = row
        elif kind in _AGENT_IS_PAST and (kind == "SubagentStop") == (events.agent[row] is not None):
            past[events.session_id[row], events.agent[row]] = row
    return past, ended


def _job_of(steps: Judged, position: int) -> str | None:
    """The id under which a pending call's result will come."""
    response = parsed(steps.response[position])
    if not isinstance(response, dict):
        return None
    job = response.get("backgroundTaskId") or response.get("agentId")
    return job if isinstance(job, str) else None


def _told_by(steps: Judged, position: int) -> tuple[str | None, Verdict | None]:
    """The job that a call asked about or stopped, and what it learnt."""
    tool = steps.tool_name[position]
    if tool not in _STOPS and tool not in _REPORTS:
        return None, None
    response, asked = parsed(steps.response[position]), parsed(steps.asked(position))
    if tool in _STOPS:
        field, job = _named_job(response, asked)
        return job, Verdict(Outcome.INTERRUPTED, because(f"{tool}.{field}", job))
    if not isinstance(response, dict):
        return None, None
    report = response.get("task")
    prefix, report = ("task.", report) if isinstance(report, dict) else ("", response)
    _, job = _named_job(report, asked)
    return job, _reported(report, f"{tool}.{prefix}")


def _reported(report: Mapping[str, Any], prefix: str) -> Verdict | None:
    status = report.get("status")
    outcome = _STATUS.get(status) if isinstance(status, str) else None
    code = report.get("exitCode")
    if outcome in (Outcome.SUCCESS, Outcome.FAILURE) and isinstance(code, int):
        return Verdict(Outcome.SUCCESS if code == 0 else Outcome.FAILURE, because(f"{prefix}exitCode", code))
    return Verdict(outcome, because(f"{prefix}status", status)) if outcome else None


def _named_job(*values: Any) -> tuple[str, str] | tuple[None, None]:
    for value in values:
        for field in _ID_FIELDS:
            if isinstance(value, dict) and isinstance(job := value.get(field), str):
                return field, job
    return None, None
