"""One round, run in this process: `python -m automation.launch KEY [JOB]`, as `agent-evo rounds run` does."""

import sys

import dagster as dg

from agent_evo_dagster.definitions import defs
from agent_evo_dagster.training.orphan import exit_with_parent
from assets.partitions import EVOLUTION_ROUNDS


def register(key: str) -> None:
    """Tell the Dagster instance of the round."""
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(str(EVOLUTION_ROUNDS.name), [key])


def launch(key: str, job: str) -> bool:
    """Run `job` on a round that is registered.

    Returns:
        Whether the run succeeded.
    """
    with dg.DagsterInstance.get() as instance:
        result = defs.resolve_job_def(job).execute_in_process(
            instance=instance, partition_key=key, raise_on_error=False
        )
        for event in result.get_step_failure_events():
            error = event.step_failure_data.error
            cause = error.cause if error and error.cause else error
            print(f"{event.step_key}: {cause.message.strip() if cause else event.message}", file=sys.stderr)
        return bool(result.success)


def main() -> None:
    """Register the round that the command line names, and run a job on it if one is named."""
    exit_with_parent()
    match sys.argv[1:]:
        case [key]:
            register(key)
        case [key, job]:
            register(key)
            sys.exit(0 if launch(key, job) else 1)
        case _:
            sys.exit("usage: python -m automation.launch ROUND [JOB]")


if __name__ == "__main__":
    main()
