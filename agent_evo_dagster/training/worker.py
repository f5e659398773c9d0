"""The training process: `python -m agent_evo_dagster.training.worker REQUEST.json`.

Exit code 0: done. 2: the request is refused. Anything else: it failed, and standard error says why.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dagster_pipes import DAGSTER_PIPES_CONTEXT_ENV_VAR, open_dagster_pipes
from pydantic import ValidationError

from agent_evo_dagster.errors import AgentEvoError, TrainingError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training import jobs
from agent_evo_dagster.training.lease import exit_without_lease
from agent_evo_dagster.training.orphan import exit_with_parent
from agent_evo_dagster.training.outcome import clear_outputs, write_result
from agent_evo_dagster.training.process_environment import prepare
from agent_evo_dagster.training.reporting import Pipes, RunReporter
from agent_evo_dagster.training.request import WorkerRequest

FAILED = 1
REFUSED = 2


def main(arguments: list[str]) -> int:
    """Run the job in the request file; returns the exit code."""
    began = time.monotonic()
    exit_with_parent()
    exit_without_lease()
    try:
        request = read_request(arguments)
        jobs.check(request)
    except TrainingError as error:
        print(f"The request is refused: {error}", file=sys.stderr)
        return REFUSED
    prepare(request.config.threads)
    request.run_dir.mkdir(parents=True, exist_ok=True)
    clear_outputs(request.run_dir)
    try:
        with _pipes() as pipes, RunReporter(request.run_dir, pipes).beating() as reporter:
            _set_threads(request.config.threads)
            outcome = jobs.run(request, reporter)
            reporter.phase("done")
    except AgentEvoError as error:  # written for a person: where it was raised tells them nothing more
        print(f"The job cannot be done: {error}", file=sys.stderr)
        return FAILED
    write_result(request, outcome, began)
    return 0


def read_request(arguments: list[str]) -> WorkerRequest:
    """The request in the file that the only argument names.

    Raises:
        TrainingError: there is no such file, or it is not a request.
    """
    if len(arguments) != 1:
        raise TrainingError(f"One argument was expected, the request file; {len(arguments)} were given.")
    path = Path(arguments[0])
    try:
        return WorkerRequest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TrainingError(f"{path} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        raise TrainingError(f"{path} is not a request:\n{error}") from error


@contextmanager
def _pipes() -> Iterator[Pipes | None]:
    """Dagster's context, where Dagster started this process."""
    if DAGSTER_PIPES_CONTEXT_ENV_VAR not in os.environ:
        yield None
        return
    with open_dagster_pipes() as context:
        yield context


def _set_threads(threads: int) -> None:
    torch = require("torch", extra="hf", feature="Training")
    torch.set_num_threads(threads)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
