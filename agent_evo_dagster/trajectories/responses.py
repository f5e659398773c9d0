"""The fields of tools' responses that may tell how a call ended. Not what they tell: outcomes has that."""

from typing import Any, Final

import msgspec

from agent_evo_dagster.trajectories.values import parsed


class Response(msgspec.Struct):
    """The fields by their own names, of any tool; None where there is none. The rest is never parsed."""

    outcome_told: Any = None
    success: Any = None
    isError: Any = None
    is_error: Any = None
    interrupted: Any = None
    error: Any = None
    content: msgspec.Raw = msgspec.Raw()
    answers: Any = None
    backgroundTaskId: Any = None
    code: Any = None
    exitCode: Any = None
    exit_code: Any = None
    file: msgspec.Raw = msgspec.Raw()
    filePath: Any = None
    filenames: Any = None
    id: Any = None
    jobs: Any = None
    message: Any = None
    mode: Any = None
    new_source: Any = None
    newTodos: Any = None
    notebook_path: Any = None
    numFiles: Any = None
    plan: Any = None
    results: Any = None
    retrieval_status: Any = None
    returnCodeInterpretation: Any = None
    scheduledFor: Any = None
    shell_id: Any = None
    status: Any = None
    task: Any = None
    taskId: Any = None
    task_id: Any = None
    tasks: Any = None
    type: Any = None

    def value(self, name: str) -> Any:
        """What a field holds; a long one is parsed only now."""
        held = getattr(self, name)
        if isinstance(held, msgspec.Raw):
            return parsed(bytes(held) or None)
        return held


_DECODER: Final = msgspec.json.Decoder(Response)


def read_response(text: str | bytes) -> Response | None:
    """The response given as JSON text; None where that is no object, or a field of it cannot be read."""
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
