"""The Claude Code client as a child without a terminal: found, run in bounds, its result read. No prompts.

What it is asked and what it may do is the caller's. It ends with its helpers, whatever happens.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_evo_dagster.analysts import leash
from agent_evo_dagster.analysts.client_environment import QUIET, whole
from agent_evo_dagster.analysts.leashed import leashed, send
from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.patches.hidden import visible

PROGRAM = "claude"
MAX_OUTPUT = 8 * 1024 * 1024  # bytes
GRACE_SECONDS = 5.0
_SHOWN = 600
_VERSION_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of the client ended."""

    exit_code: int  # negative: ended by that signal
    output: bytes
    said: str  # the end of its stderr, made fit to show
    seconds: float
    timed_out: bool


class Tokens(BaseModel):
    """What a run took; what is not named here is not needed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    input_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cache_creation_input_tokens: int = Field(0, ge=0)
    cache_read_input_tokens: int = Field(0, ge=0)

    @property
    def read(self) -> int:
        """All tokens that the model read."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


class Result(BaseModel):
    """The client's last word, with `--output-format json`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    subtype: str = ""
    is_error: bool
    result: str | None = None
    structured_output: Any = None
    session_id: str | None = None
    num_turns: int = Field(0, ge=0)
    total_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    usage: Tokens = Tokens()
    models: dict[str, Any] = Field({}, alias="modelUsage")  # by name: those that answered


def find_client(instead: str | None = None) -> Path:
    """The client on this machine's PATH; `instead` is what else the person who asked for it can do.

    Raises:
        ClientError: there is none.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise ClientError(
            f"Claude Code was asked for, and no program {PROGRAM!r} is on PATH. Install it "
            f"(npm install -g @anthropic-ai/claude-code){f', or {instead}' if instead else ''}."
        )
    return Path(found).absolute()


def run_client(
    arguments: Sequence[str],
    *,
    prompt: str,
    folder: Path,
    seconds: float,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run the client in `folder` with `prompt` on its stdin, for at most `seconds`.

    It and its helpers are gone then, and where this process is killed. `env` is its environment, in place of
    this process's own.

    Raises:
        ClientError: it cannot be started.
    """
    with contextlib.ExitStack() as stack:
        given, output, said = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(prompt.encode())
        given.seek(0)
        began = time.monotonic()
        command = [str(find_client()), *arguments]
        environment = {**(whole() if env is None else env), **QUIET}
        with leashed(
            command, folder=folder, env=environment, stdin=given, stdout=output, stderr=said
        ) as process:
            try:
                timed_out = _await(process, seconds)
            finally:
                _stop(process)
        taken = time.monotonic() - began
        ended = Ended(process.returncode, _read(output), _shown(said), taken, timed_out)
    if ended.exit_code == leash.NOT_STARTED and not ended.output:
        raise ClientError(f"{ended.said} Install it again.")
    return ended


def client_version() -> str:
    """What the client calls itself, such as `2.1.197 (Claude Code)`.

    Raises:
        ClientError: there is none, or it does not say.
    """
    with tempfile.TemporaryDirectory(prefix="agent-evo-client-") as folder:
        ended = run_client(["--version"], prompt="", folder=Path(folder), seconds=_VERSION_SECONDS)
    version = visible(ended.output.decode(errors="replace").strip())[:60]
    if ended.exit_code or not version:
        raise ClientError(
            f"{find_client()} --version ended with {ended.exit_code} and said "
            f"{ended.said or version or 'nothing'}. Install Claude Code again."
        )
    return version


def read_result(ended: Ended) -> Result:
    """The result that the client printed; also one that says that it failed.

    Raises:
        ClientError: it ran out of time, or printed none.
    """
    if ended.timed_out:
        raise ClientError(f"Claude Code was ended after {ended.seconds:.3g} s, before it had a result.")
    try:
        return Result.model_validate_json(ended.output)
    except ValidationError as error:
        raise ClientError(
            f"Claude Code ended with {ended.exit_code} and printed no result (--output-format json). "
            f"It said: {ended.said or 'nothing'}"
        ) from error


def _await(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether the time ran out first."""
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return True
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask the group to stop, and wait for its leader a while."""
    if process.poll() is None:
        send(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)


def _read(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read(MAX_OUTPUT)


def _shown(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _SHOWN))
    return visible(stream.read().decode(errors="replace").strip())
