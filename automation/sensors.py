"""Sensors: finished sessions open a round, and decisions of people are compiled."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.adoption import not_adopted
from agent_evo_dagster.rounds.opening import RoundRequest, news, open_round
from agent_evo_dagster.rounds.store import RoundStore
from agent_evo_dagster.settings import Settings
from assets.partitions import EVOLUTION_ROUNDS
from automation.abandoned import UNFINISHED
from automation.jobs import ADOPT, EVOLUTION_ROUND
from automation.observing import observe_bank
from automation.unstarted import unstarted


def build_spool_sensor(settings: Settings, template: Path, *, enough: int = 5) -> dg.SensorDefinition:
    """A sensor that opens a round when `enough` finished sessions are new."""

    @dg.sensor(
        name="new_sessions",
        job_name=EVOLUTION_ROUND,
        minimum_interval_seconds=60,
        description=f"Opens a round when {enough} finished sessions are new in the spool.",
    )
    def new_sessions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        observe_bank(context.instance, settings, template)
        store = RoundStore(settings.rounds)
        keys = unstarted(context.instance, store, "sensor")
        if not keys:
            ask = RoundRequest(opened_by="sensor")
            new = news(settings, store, ask, datetime.now(UTC))
            if len(new.sessions) < enough:
                return dg.SkipReason(_waits(len(new.sessions), enough, new.unreadable))
            keys = [open_round(settings, template, ask).key]
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=key, partition_key=key) for key in keys],
            dynamic_partitions_requests=[EVOLUTION_ROUNDS.build_add_request(keys)],
        )

    return new_sessions


def build_decision_sensor(settings: Settings, template: Path) -> dg.SensorDefinition:
    """A sensor that compiles what a person approved, and sees when the bank was edited."""

    @dg.sensor(
        name="new_decisions",
        job_name=ADOPT,
        minimum_interval_seconds=30,
        description="Compiles the skills of a round after a person approved one of its patches.",
    )
    def new_decisions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        observe_bank(context.instance, settings, template)
        waiting = not_adopted(ledger_of(settings.bank_path))
        due = [item for item in waiting if item.round and not _in_progress(context.instance, item.round)]
        if not due:
            return dg.SkipReason("Every approved patch is compiled, or its round is being run.")
        rounds = sorted({str(record.round) for record in due})
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=record.hash, partition_key=record.round) for record in due],
            dynamic_partitions_requests=[EVOLUTION_ROUNDS.build_add_request(rounds)],
        )

    return new_decisions


def _waits(sessions: int, enough: int, unreadable: Mapping[str, str]) -> str:
    passed = "".join(f" {name} is passed over: {reason}." for name, reason in unreadable.items())
    return f"{sessions} finished sessions are new; a round opens at {enough}.{passed}"


def _in_progress(instance: dg.DagsterInstance, key: str) -> bool:
    """Whether the round is being run: that run compiles what its own policy approved."""
    unfinished = dg.RunsFilter(tags={"dagster/partition": key}, statuses=UNFINISHED)
    return instance.get_runs_count(unfinished) > 0
