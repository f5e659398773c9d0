"""The instance settings that are shipped, read by the Dagster that is installed."""

import logging
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._daemon.monitoring import concurrency

ROOT = Path(__file__).parents[2]


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    shutil.copy(ROOT / "deploy/dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with dg.DagsterInstance.get() as instance:
        yield instance


def test_nothing_phones_home(instance):
    assert not instance.telemetry_enabled
    assert not instance.nux_enabled


def test_one_training_runs_at_a_time(instance):
    limits = instance.get_concurrency_config()
    assert limits.pool_config.default_pool_limit == 1
    assert limits.run_queue_config.tag_concurrency_limits == [{"key": "agent_evo/trains", "limit": 1}]


def test_a_run_that_died_gives_its_pool_slot_back(instance, monkeypatch):
    @dg.op
    def train() -> None: ...

    @dg.job
    def job() -> None:
        train()

    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    storage = instance.event_log_storage
    storage.initialize_concurrency_limit_to_default("training")
    assert storage.claim_concurrency_slot("training", run.run_id, "train").is_claimed
    assert not storage.claim_concurrency_slot("training", "another-run", "train").is_claimed
    instance.report_run_canceled(run)

    patience = timedelta(seconds=instance.run_monitoring_settings["free_slots_after_run_end_seconds"] + 1)
    monkeypatch.setattr(concurrency, "get_current_datetime", lambda: datetime.now(UTC) + patience)
    daemon = SimpleNamespace(instance=instance)
    list(concurrency.execute_concurrency_slots_iteration(daemon, logging.getLogger("test")))
    assert storage.claim_concurrency_slot("training", "another-run", "train").is_claimed
