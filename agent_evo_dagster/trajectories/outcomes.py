"""How a finished call ended, told by the fields that each tool fills. Never by words in its output.

A reason is `field=value`. Calls in the background, and calls that never ended, are resolved in background.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from agent_evo_dagster.trajectories.responses import Response, read_response
from agent_evo_dagster.trajectories.types import Outcome

_TOOL_ERROR: Final = "<tool_use_error>"
_MAX_VALUE: Final = 80  # characters of a value that a reason quotes


class Verdict(NamedTuple):
    """An outcome, the field that told it, and the error that the fields carry."""

    outcome: Outcome
    reason: str
    error: str | None = None


Rule = Callable[[Response], Verdict | None]


def judge_response(tool: str | None, text: str | bytes | None) -> Verdict:
    """The outcome of a call whose PostToolUse came with a response, given as JSON text."""
    if text is None:
        return Verdict(Outcome.UNKNOWN, "tool_response=null")
    response = read_response(text)
    if response is None:
        known = tool in _RULES
        return Verdict(Outcome.UNKNOWN if known else Outcome.SUCCESS, _SHAPE if known else "kind=PostToolUse")
    verdict = _said_by_flags(response)
    if verdict is None and tool is not None:
        verdict = _RULES.get(tool, _ended)(response)
    if verdict is None and response.is_error is False:  # as in transcripts of subagents
        verdict = Verdict(Outcome.SUCCESS, "is_error=false")
    return verdict or Verdict(Outcome.UNKNOWN, _SHAPE)


def judge_batch(response: Any, *, started: bool) -> Verdict:
    """The outcome of a call that only PostToolBatch ended: refused as invalid, or, once started, denied."""
    text = _first_text(response)
    if text is not None and text.startswith(_TOOL_ERROR):
        error = text.removeprefix(_TOOL_ERROR).removesuffix("</tool_use_error>")
        return Verdict(Outcome.FAILURE, f"tool_response={_TOOL_ERROR}", error)
    return Verdict(Outcome.DENIED if started else Outcome.UNKNOWN, "kind=PostToolBatch", text)


def because(field: str, value: object) -> str:
    """A reason: the field and its value, as JSON writes it, cut where it is long."""
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{field}={shown[:_MAX_VALUE]}"


_SHAPE: Final = "tool_response=unrecognised"


def _said_by_flags(response: Response) -> Verdict | None:
    """What any tool may say of itself."""
    if response.outcome_told is False:  # as sources write where their format has no field for it
        return Verdict(Outcome.UNKNOWN, "outcome_told=false")
    if response.success is False:
        return Verdict(Outcome.FAILURE, "success=false", _text(response.error))
    if response.isError is True or response.is_error is True:
        flag = "isError" if response.isError is True else "is_error"
        error = _text(response.error) or _first_text(response.value("content"))
        return Verdict(Outcome.FAILURE, f"{flag}=true", error)
    if response.interrupted is True:
        return Verdict(Outcome.INTERRUPTED, "interrupted=true")
    return None


def _ended(_: Response) -> Verdict:
    """A tool without a rule: the client sends PostToolUse only for a call that ended well."""
    return Verdict(Outcome.SUCCESS, "kind=PostToolUse")


def _bash(response: Response) -> Verdict | None:
    task = response.backgroundTaskId
    if task is not None:
        return Verdict(Outcome.PENDING, because("backgroundTaskId", task))
    meaning = response.returnCodeInterpretation
    if meaning is not None:
        return Verdict(Outcome.SUCCESS, because("returnCodeInterpretation", meaning))
    for field, code in (("exitCode", response.exitCode), ("exit_code", response.exit_code)):
        if isinstance(code, int):
            return Verdict(Outcome.SUCCESS if code == 0 else Outcome.FAILURE, because(field, code))
    return Verdict(Outcome.SUCCESS, "interrupted=false") if response.interrupted is False else None


def _agent(response: Response) -> Verdict | None:
    status = response.status
    outcome = _AGENT_STATUS.get(status) if isinstance(status, str) else None
    return Verdict(outcome, because("status", status), _text(response.error)) if outcome else None


def _web_fetch(response: Response) -> Verdict | None:
    code = response.code
    if not isinstance(code, int):
        return None
    return Verdict(Outcome.SUCCESS if code < 400 else Outcome.FAILURE, because("code", code))


def _notebook(response: Response) -> Verdict | None:
    error = response.error
    if error:
        return Verdict(Outcome.FAILURE, because("error", error), _text(error))
    return _names("notebook_path", "new_source")(response)


def _skill(response: Response) -> Verdict | None:
    return Verdict(Outcome.SUCCESS, "success=true") if response.success is True else None


def _names(*fields: str, value: bool = False) -> Rule:
    """A rule: the call is done where the response has one of `fields`; `value` quotes what it holds."""

    def rule(response: Response) -> Verdict | None:
        for field in fields:
            held = response.value(field)
            if held is not None:
                shown = held if value or not isinstance(held, list | dict | str) else _kind_of(held)
                return Verdict(Outcome.SUCCESS, because(field, shown))
        return None

    return rule


def _kind_of(value: list[Any] | dict[str, Any] | str) -> str:
    return {list: "[...]", dict: "{...}", str: "..."}[type(value)]


def _first_text(value: Any) -> str | None:
    """The text of a result: itself, or its first text block."""
    if isinstance(value, str):
        return value
    blocks = value if isinstance(value, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return next((text for text in texts if isinstance(text, str)), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_AGENT_STATUS: Final = {
    "completed": Outcome.SUCCESS,
    "async_launched": Outcome.PENDING,
    "failed": Outcome.FAILURE,
    "error": Outcome.FAILURE,
    "killed": Outcome.INTERRUPTED,
    "cancelled": Outcome.INTERRUPTED,
}

# What each tool's response holds when the call is done.
_RULES: Final[Mapping[str, Rule]] = {
    "Agent": _agent,
    "AskUserQuestion": _names("answers"),
    "Bash": _bash,
    "BashOutput": _names("status", value=True),
    "CronCreate": _names("id", value=True),
    "CronDelete": _names("id", value=True),
    "CronList": _names("jobs"),
    "Edit": _names("filePath", value=True),
    "EnterPlanMode": _names("message"),
    "ExitPlanMode": _names("plan", "filePath"),
    "Glob": _names("numFiles", "filenames"),
    "Grep": _names("numFiles", "filenames", "mode"),
    "KillShell": _names("shell_id", "task_id", "message", value=True),
    "Monitor": _names("taskId", value=True),
    "MultiEdit": _names("filePath", value=True),
    "NotebookEdit": _notebook,
    "Read": _names("type", "file", value=True),
    "ScheduleWakeup": _names("scheduledFor", value=True),
    "Skill": _skill,
    "Task": _agent,
    "TaskCreate": _names("task"),
    "TaskGet": _names("task"),
    "TaskList": _names("tasks"),
    "TaskOutput": _names("retrieval_status", value=True),
    "TaskStop": _names("task_id", value=True),
    "TaskUpdate": _skill,
    "TodoWrite": _names("newTodos"),
    "WebFetch": _web_fetch,
    "WebSearch": _names("results"),
    "Write": _names("filePath", value=True),
}
