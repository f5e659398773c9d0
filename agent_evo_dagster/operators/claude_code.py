"""A headless Claude Code as the operator: it follows the skills once, and its session is captured.

It has a bank and a home of its own, so that what it trains is not the round's. Killed before its round is
opened, it is started again, or, where it had come to its end, is not.
"""

import json
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent_evo_dagster.analysts.client import Ended, Result, client_version, find_client, read_result
from agent_evo_dagster.capture.copies import copy_transcripts
from agent_evo_dagster.capture.hook_settings import Place, install, script_source
from agent_evo_dagster.capture.interpreter import real_interpreter
from agent_evo_dagster.capture.spool_names import HOOKS
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.operators.records import keep, left_over
from agent_evo_dagster.operators.types import Assignment, Bounds, OperatorRun
from agent_evo_dagster.operators.workspace import Workspace, workspace
from agent_evo_dagster.patches.hidden import visible
from agent_evo_dagster.settings import HOME
from agent_evo_dagster.skills.bank import create_bank
from agent_evo_dagster.skills.compile import compile_all

TASK: Final = (
    "Train once, as the skills of this project say, look at the result, and report it in a few lines."
)
ASKED: Final = "What is asked for in particular: "
# What the skills need to train and to look; not what installs, imports, exports or decides.
COMMANDS: Final = ("train", "rounds", "report", "config", "query", "diagnose", "doctor")
ALLOWED: Final = (*(f"Bash(agent-evo {name} *)" for name in COMMANDS), "Bash(agentic_rl train *)")
ENDED: Final = b'"SessionEnd"'


@dataclass(frozen=True)
class ClaudeCode:
    """The client on PATH; `model` is None for the client's own choice."""

    bounds: Bounds = field(default_factory=Bounds)
    model: str | None = None

    def operate(self, assignment: Assignment) -> OperatorRun:
        """Run the client to its end; one that stops at a bound has worked all the same.

        Raises:
            ClientError: there is no client, it has no result, or nothing of it was captured.
        """
        find_client("leave out --operator claude_code")  # before anything is written
        asked = self._asked(assignment)
        before = left_over(assignment.records, asked, assignment.taken)
        if before is not None:
            return before
        run = self._run(assignment)
        keep(assignment.records, asked, run)
        return run

    def _asked(self, assignment: Assignment) -> str:
        """What makes two runs the same work; how much one may take does not."""
        words = [assignment.request, assignment.bank.content_hash(), self.model, str(assignment.spool)]
        return sha256_bytes(json.dumps(words).encode())

    def _run(self, assignment: Assignment) -> OperatorRun:
        version, session, spool = client_version(), str(uuid.uuid4()), assignment.spool
        with workspace(compile_all(assignment.bank)) as place:
            home = place.folder / ".agent_evo"
            create_bank(assignment.bank.path, home / "skill_bank")
            ended = place.run(
                f"{TASK}\n\n{ASKED}{assignment.request}" if assignment.request else TASK,
                self.bounds,
                model=self.model,
                allowed=ALLOWED,
                more=["--session-id", session, "--settings", str(_capture(place, spool))],
                env={**assignment.environment, **_commands(place, self.bounds), HOME: str(home)},
            )
            run = _recorded(session, version, ended)
            _require_captured(spool, run, ended)
            size = (spool / HOOKS / f"{session}.jsonl").stat().st_size
            copy_transcripts(spool, [FileSlice(f"{HOOKS}/{session}.jsonl", 0, size, "", (session,))])
        return run


def _capture(place: Workspace, spool: Path) -> Path:
    """Settings with the hook that captures into `spool`."""
    interpreter = real_interpreter(Path(sys.executable))
    install(Place(place.claude), script=script_source(), interpreter=interpreter, spool=spool)
    return Place(place.claude).settings


def _commands(place: Workspace, bounds: Bounds) -> dict[str, str]:
    """Our commands on its PATH, with as much time for one as there is for all."""
    limit = str(int(bounds.seconds * 1000))
    path = f"{Path(sys.executable).parent}:{place.environment().get('PATH', '')}"
    return {"PATH": path, "BASH_DEFAULT_TIMEOUT_MS": limit, "BASH_MAX_TIMEOUT_MS": limit}


def _recorded(session: str, version: str, ended: Ended) -> OperatorRun:
    """What the client says of its run; one that was ended says nothing.

    Raises:
        ClientError: it printed no result, or could not begin.
    """
    result = None if ended.timed_out else read_result(ended)
    if result is not None and result.is_error and not result.total_cost_usd:
        said = visible((result.result or "")[:300])
        raise ClientError(
            f"Claude Code could not work as the operator: {_outcome(result)}: {said or 'it says no more'}. "
            "No round was opened. Log in (claude), or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN "
            "(claude setup-token), and try again."
        )
    return OperatorRun(
        session_id=session,
        client=version,
        models=() if result is None else tuple(sorted(result.models)),
        outcome="timeout" if result is None else _outcome(result),
        exit_code=ended.exit_code,
        turns=None if result is None else result.num_turns,
        cost_usd=None if result is None else result.total_cost_usd,
        tokens=None if result is None else result.usage.read + result.usage.output_tokens,
        seconds=round(ended.seconds, 1),
    )


def _outcome(result: Result) -> str:
    """The client's word for how it ended; it calls an error of the service a success, with a flag."""
    if result.is_error and result.subtype == "success":
        return "error"
    return visible(result.subtype[:60]) or "unknown"


def _require_captured(spool: Path, run: OperatorRun, ended: Ended) -> None:
    """Its session must be in the spool, and over: a round takes no other."""
    path = spool / HOOKS / f"{run.session_id}.jsonl"
    held = path.read_bytes() if path.is_file() else b""
    if ENDED not in held:
        what = "has no end" if held else "was not captured"
        more = " A round takes what there is with --include-open-sessions." if held else ""
        raise ClientError(
            f"{run.line()}: this session {what} in {spool}, so no round was opened. "
            f"The client said: {ended.said or 'nothing'}.{more}"
        )
