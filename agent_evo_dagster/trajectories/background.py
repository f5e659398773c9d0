"""The end of calls that outlive their own events: background jobs, and calls that never came back."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agent_evo_dagster.trajectories.columns import EventColumns
from agent_evo_dagster.trajectories.drafts import Draft
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


def resolve_background(columns: EventColumns, drafts: Iterable[Draft], rows: Sequence[int]) -> None:
    """Give pending calls of one session the outcome that a later result with the same id tells."""
    drafts = list(drafts)
    pending = {job: draft for draft in drafts if (job := _job_of(draft)) is not None}
    if not pending:
        return
    for draft in drafts:
        if draft.outcome is not Outcome.SUCCESS or draft.end is None:
            continue
        told = _told_by(draft)
        if told is not None and told[0] in pending and draft.end > pending[told[0]].first():
            _settle(pending.pop(told[0]), told[1], draft.end)
    for row in rows:
        agent = columns.agent_id[row]
        if columns.kind[row] == "SubagentStop" and agent in pending:
            _settle(pending.pop(agent), Verdict(Outcome.SUCCESS, "kind=SubagentStop"), row)


def close_dangling(
    columns: EventColumns, by_agent: Mapping[str | None, Sequence[Draft]], rows: Sequence[int], *, over: bool
) -> None:
    """Calls without an end: interrupted where the session or the agent's turn is over, else pending.

    `over` says from outside that the session is over (its client was killed and wrote no SessionEnd).
    """
    past, session_end = _past_rows(columns, rows)
    for agent, drafts in by_agent.items():
        for draft in drafts:
            if draft.outcome is not None or draft.start is None:
                continue
            closer = next((row for row in (past[agent], session_end) if row > draft.start), None)
            if closer is not None:
                draft.outcome, draft.reason = Outcome.INTERRUPTED, because("kind", columns.kind[closer])
                draft.evidence.append(closer)
            elif over:
                draft.outcome, draft.reason = Outcome.INTERRUPTED, "session=over"
            else:
                draft.outcome, draft.reason = Outcome.PENDING, "kind=PreToolUse"


def _past_rows(columns: EventColumns, rows: Sequence[int]) -> tuple[dict[str | None, int], int]:
    """The last row that shows each agent to be past its calls, and the last SessionEnd; -1: none."""
    past: dict[str | None, int] = defaultdict(lambda: -1)
    session_end = -1
    for row in rows:
        kind = columns.kind[row]
        if kind == "SessionEnd":
            session_end = row
        elif kind in _AGENT_IS_PAST and (kind == "SubagentStop") == (columns.agent_id[row] is not None):
            past[columns.agent_id[row]] = row
    return past, session_end


def _job_of(draft: Draft) -> str | None:
    """The id under which a pending call's result will come."""
    if draft.outcome is not Outcome.PENDING or not isinstance(draft.response, dict):
        return None
    job = draft.response.get("backgroundTaskId") or draft.response.get("agentId")
    return job if isinstance(job, str) else None


def _told_by(draft: Draft) -> tuple[str, Verdict] | None:
    """The job that a call asked about or stopped, and what it learnt."""
    if draft.tool_name in _STOPS:
        field, job = _named_job(draft.response, parsed(draft.tool_input))
        return (
            (job, Verdict(Outcome.INTERRUPTED, because(f"{draft.tool_name}.{field}", job))) if job else None
        )
    if draft.tool_name not in _REPORTS or not isinstance(draft.response, dict):
        return None
    report = draft.response.get("task")
    prefix, report = ("task.", report) if isinstance(report, dict) else ("", draft.response)
    _, job = _named_job(report, parsed(draft.tool_input))
    verdict = _reported(report, f"{draft.tool_name}.{prefix}")
    return (job, verdict) if job and verdict else None


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


def _settle(draft: Draft, verdict: Verdict, row: int) -> None:
    draft.outcome, draft.reason = verdict.outcome, verdict.reason
    draft.evidence.append(row)
