"""One round, run in this process: `python -m automation.launch KEY [JOB]`, as `agent-evo rounds run` does."""

import sys

import dagster as dg

from agent_evo_dagster.definitions import TEMPLATE, defs, project_settings
from agent_evo_dagster.errors import AgentEvoError
from agent_evo_dagster.training.orphan import exit_with_parent
from assets.partitions import EVOLUTION_ROUNDS
from automation.abandoned import (
    LAUNCHED,
    end_abandoned,
    ending_abandoned,
    holders,
    running,
    wait_for_slot,
)
from automation.jobs import TRAINS
from automation.observing import observe_bank

POOL = "training"
INTERRUPTED = 130  # the exit code of what Ctrl-C ended
WAIT_LIMIT = 1800.0  # seconds for another training to end; a slot may also never be given back


def register(key: str) -> None:
    """Tell the Dagster instance of the round, and of the bank as it is now."""
    with dg.DagsterInstance.get() as instance:
        observe_bank(instance, project_settings(), TEMPLATE)
        instance.add_dynamic_partitions(str(EVOLUTION_ROUNDS.name), [key])


def launch(key: str, job: str) -> bool:
    """Run `job` on a round that is registered.

    Returns:
        Whether the run succeeded.

    Raises:
        RoundError: another process runs this round, or the slot of training was not given back in time.
    """
    rounds = project_settings().rounds
    with dg.DagsterInstance.get() as instance, running(rounds, key):
        for run_id in end_abandoned(instance, rounds, key, POOL):
            print(f"Run {run_id} was killed: it is ended on record, and {key} goes on.", file=sys.stderr)
        asked = defs.resolve_job_def(job)
        trains = TRAINS.items() <= asked.tags.items()
        for run_id in holders(instance, POOL) if trains else ():
            print(
                f"Run {run_id} is training; this one waits. Its end, or its death, ends the wait.",
                file=sys.stderr,
            )
        if trains:
            wait_for_slot(instance, rounds, POOL, limit=WAIT_LIMIT)
        with ending_abandoned(instance, rounds, POOL):
            result = asked.execute_in_process(
                instance=instance, partition_key=key, tags=LAUNCHED, raise_on_error=False
            )
        for event in result.get_step_failure_events():
            error = event.step_failure_data.error
            cause = error.cause if error and error.cause else error
            print(f"{event.step_key}: {cause.message.strip() if cause else event.message}", file=sys.stderr)
        return bool(result.success)


def main() -> None:
    """Register the round that the command line names, and run a job on it if one is named."""
    exit_with_parent()
    try:
        match sys.argv[1:]:
            case [key]:
                register(key)
            case [key, job]:
                register(key)
                sys.exit(0 if launch(key, job) else 1)
            case _:
                sys.exit("usage: python -m automation.launch ROUND [JOB]")
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
        sys.exit(INTERRUPTED)  # whoever started it tells how to go on
    except AgentEvoError as error:
        sys.exit(f"agent-evo: {error}")


if __name__ == "__main__":
    main()
