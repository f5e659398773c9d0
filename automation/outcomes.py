"""What becomes of each step of a round, on record beside the round, whoever runs it. Not what a step does."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from agent_evo_dagster.capture.redact import load_key, redact_text
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.rounds.failures import StepFailure, clear_failure, record_failure
from agent_evo_dagster.rounds.store import RoundStore
from resources.rounds import RoundsResource


@dg.failure_hook(required_resource_keys={"rounds"})
def step_failed(context: dg.HookContext) -> None:
    """Put on record that a step of a round failed, and why."""
    folder = _folder(context)
    if folder is None:
        return
    message = _told(str(context.op_exception or ""), context.resources.rounds)
    record_failure(folder, StepFailure(step=context.op.name, message=message, at=datetime.now(UTC)))


@dg.success_hook(required_resource_keys={"rounds"})
def step_made(context: dg.HookContext) -> None:
    """Take the failure of a step off the record: it was made."""
    folder = _folder(context)
    if folder is not None:
        clear_failure(folder, context.op.name)


def _told(message: str, rounds: RoundsResource) -> str:
    """The message without secrets; without the key that they are replaced by, nothing of it."""
    try:
        key = load_key(rounds.path(), personal=rounds.redact)
    except (CaptureError, OSError) as error:
        return f"its message is in Dagster's log alone, for it cannot be redacted: {error}"
    return redact_text(message, key)


def _folder(context: dg.HookContext) -> Path | None:
    """The folder of the round that is run; none for what belongs to no round that is open."""
    run = context.instance.get_run_by_id(context.run_id)
    key = run.tags.get("dagster/partition") if run else None
    known = RoundStore(context.resources.rounds.path("rounds")).keys()
    return context.resources.rounds.path("rounds", key) if key in known else None
