"""Sensors: finished sessions open a round, and decisions of people are compiled."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.rounds.adoption import not_adopted
from agent_evo_dagster.rounds.deciding import Synced, desk_of, expiry_of
from agent_evo_dagster.rounds.opening import RoundRequest, news, open_round
from agent_evo_dagster.rounds.services import require_services
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
        ask = RoundRequest(opened_by="sensor")
        if not keys:
            new = news(settings, store, ask, datetime.now(UTC))
            if len(new.sessions) < enough:
                return dg.SkipReason(_waits(len(new.sessions), enough, new.unreadable))
        require_services(settings)  # else the tick fails, and tells what is missing: nothing was trained
        keys = keys or [open_round(settings, template, ask).key]
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=key, partition_key=key) for key in keys],
            dynamic_partitions_requests=[EVOLUTION_ROUNDS.build_add_request(keys)],
        )

    return new_sessions


def build_decision_sensor(settings: Settings, template: Path) -> dg.SensorDefinition:
    """A sensor that carries out approval files, compiles what was approved, and sees edits of the bank."""

    @dg.sensor(
        name="new_decisions",
        job_name=ADOPT,
        minimum_interval_seconds=30,
        description="Carries out approval files, and compiles a round's skills after a person decided.",
    )
    def new_decisions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        observe_bank(context.instance, settings, template)
        synced = _synced(settings)
        for name, problem in synced.problems.items():
            context.log.warning(f"approvals/{name}: {problem}")
        ledger = ledger_of(settings.bank_path)
        wanted = {ledger.last_approval(record): record.round for record in not_adopted(ledger)}
        wanted |= {record.hash: record.round for record in (*synced.records, *synced.expired)}
        due = {key: name for key, name in wanted.items() if name and not _in_progress(context.instance, name)}
        if not due:
            told = "".join(f" approvals/{name}: {why}" for name, why in synced.problems.items())
            return dg.SkipReason(f"Every approved patch is compiled, or its round is being run.{told}")
        return dg.SensorResult(
            run_requests=[dg.RunRequest(run_key=key, partition_key=name) for key, name in due.items()],
            dynamic_partitions_requests=[EVOLUTION_ROUNDS.build_add_request(sorted(set(due.values())))],
        )

    return new_decisions


def _synced(settings: Settings) -> Synced:
    """What the files of the bank decide, carried out; nothing before there is a bank."""
    if not settings.bank_path.exists():
        return Synced()
    return desk_of(settings).sync(datetime.now(UTC), expiry=expiry_of(settings))


def _waits(sessions: int, enough: int, unreadable: Mapping[str, str]) -> str:
    passed = "".join(f" {name} is passed over: {reason}." for name, reason in unreadable.items())
    return f"{sessions} finished sessions are new; a round opens at {enough}.{passed}"


def _in_progress(instance: dg.DagsterInstance, key: str) -> bool:
    """Whether the round is being run: that run compiles what its own policy approved."""
    unfinished = dg.RunsFilter(tags={"dagster/partition": key}, statuses=UNFINISHED)
    return instance.get_runs_count(unfinished) > 0
