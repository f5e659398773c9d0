"""The nightly round, off until someone switches it on."""

from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import EmptySpoolError
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.settings import Settings
from assets.partitions import EVOLUTION_ROUNDS
from automation.jobs import EVOLUTION_ROUND


def build_nightly(settings: Settings, template: Path) -> dg.ScheduleDefinition:
    """A schedule that opens and runs one round a night."""

    @dg.schedule(
        name="nightly_round",
        job_name=EVOLUTION_ROUND,
        cron_schedule="0 2 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Opens and runs a round at 02:00 UTC.",
    )
    def nightly_round(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        try:
            manifest = open_round(settings, template, RoundRequest())
        except EmptySpoolError as error:
            return dg.SkipReason(str(error))
        context.instance.add_dynamic_partitions(str(EVOLUTION_ROUNDS.name), [manifest.key])
        return dg.RunRequest(run_key=manifest.key, partition_key=manifest.key)

    return nightly_round
