"""The nightly round, off until someone switches it on."""

from pathlib import Path

import dagster as dg

from agent_evo_dagster.errors import EmptySpoolError
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.services import require_services
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from assets.partitions import EVOLUTION_ROUNDS
from automation.jobs import EVOLUTION_ROUND
from automation.observing import observe_bank
from automation.unstarted import unstarted


def build_nightly(settings: Settings, template: Path) -> dg.ScheduleDefinition:
    """A schedule that opens and runs one round a night."""

    @dg.schedule(
        name="nightly_round",
        job_name=EVOLUTION_ROUND,
        cron_schedule="0 2 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Opens and runs a round at 02:00 UTC.",
    )
    def nightly_round(
        context: dg.ScheduleEvaluationContext,
    ) -> list[dg.RunRequest] | dg.SkipReason:
        observe_bank(context.instance, settings, template)
        require_services(settings)  # else the tick fails, and tells what is missing: nothing was trained
        keys = unstarted(context.instance, RoundStore(settings.rounds), "schedule")
        try:
            keys.append(open_round(settings, template, RoundRequest(opened_by="schedule")).key)
        except EmptySpoolError as error:
            if not keys:
                return dg.SkipReason(str(error))
        context.instance.add_dynamic_partitions(str(EVOLUTION_ROUNDS.name), keys)
        return [dg.RunRequest(run_key=key, partition_key=key) for key in keys]

    return nightly_round
