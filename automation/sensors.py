"""Sensors: finished sessions open a round, and decisions of people are compiled."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.adoption import not_adopted
from agent_evo_dagster.rounds.opening import RoundRequest, new_slices, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from assets.partitions import EVOLUTION_ROUNDS
from automation.jobs import ADOPT, EVOLUTION_ROUND


def build_spool_sensor(settings: Settings, template: Path, *, enough: int = 5) -> dg.SensorDefinition:
    """A sensor that opens a round when `enough` finished sessions are new."""

    @dg.sensor(
        name="new_sessions",
        job_name=EVOLUTION_ROUND,
        minimum_interval_seconds=60,
        description=f"Opens a round when {enough} finished sessions are new in the spool.",
    )
    def new_sessions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        known = set(context.instance.get_dynamic_partitions(str(EVOLUTION_ROUNDS.name)))
        store = RoundStore(settings.rounds)
        opened = store.keys()
        unregistered = [key for key in opened if key not in known]
        if not unregistered:
            slices = new_slices(settings, store, RoundRequest(), datetime.now(UTC))
            sessions = {session for item in slices for session in item.sessions}
            if len(sessions) < enough:
                return dg.SkipReason(f"{len(sessions)} finished sessions are new; a round opens at {enough}.")
            unregistered = [open_round(settings, template, RoundRequest()).key]
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=key, partition_key=key) for key in unregistered],
            dynamic_partitions_requests=[EVOLUTION_ROUNDS.build_add_request(unregistered)],
        )

    return new_sessions


def build_decision_sensor(settings: Settings) -> dg.SensorDefinition:
    """A sensor that compiles what a person approved."""

    @dg.sensor(
        name="new_decisions",
        job_name=ADOPT,
        minimum_interval_seconds=30,
        description="Compiles the skills of a round after a person approved one of its patches.",
    )
    def new_decisions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        del context
        waiting = not_adopted(ledger_of(settings.bank_path))
        if not waiting:
            return dg.SkipReason("Every approved patch is compiled.")
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(run_key=record.hash, partition_key=record.round) for record in waiting
            ],
        )

    return new_decisions
