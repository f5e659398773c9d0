"""Rounds from the terminal, each in a process: kills are made good, failures are told in a line."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.failures import failures_of
from agent_evo_dagster.rounds.state import RUN_LOCK
from agent_evo_dagster.training.launch import staged_run
from automation.abandoned import (
    LAUNCHED,
    end_abandoned,
    ending_abandoned,
    holders,
    running,
    wait_for_slot,
)
from tests.assets.graph import ROOT

KEY = "round-0001"
POOL = "training"
Command = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def agent_evo(tmp_path: Path) -> Iterator[Command]:
    """Starts `agent-evo` on a home of its own, with a worker that trains no model."""
    python = tmp_path / "python"
    script = ROOT / "tests/automation/worker_without_model.py"
    python.write_text(f'#!/bin/sh\nexec env PYTHONPATH={ROOT} {sys.executable} {script} "$@"\n')
    python.chmod(0o755)
    home = {"AGENT_EVO_HOME": str(tmp_path / "home"), "AGENT_EVO_TRAINER_PYTHON": str(python)}
    left_out = {"DAGSTER_HOME", "AGENT_EVO_BANK", "AGENT_EVO_POLICY"}
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **more: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", "from agent_evo_dagster.cli.main import main; main()", *arguments],
            cwd=tmp_path,
            env={**inherited, **home, **more, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def wait_for(path: Path, process: subprocess.Popen[str]) -> Path:
    deadline = time.monotonic() + 200
    while not list(path.parent.glob(path.name)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return path


def test_a_round_killed_in_the_middle_of_training_completes_when_it_is_run_again(agent_evo, tmp_path):
    first = agent_evo("rounds", "run", "--allow-empty", "--only", "training", AGENT_EVO_TEST_HANGS="1")
    folder = tmp_path / "home/runs" / KEY
    wait_for(folder / "in-the-middle", first)
    second = agent_evo("rounds", "run", KEY)  # while the first is at work
    code, _, err = finished(second)
    assert code == 1
    assert f"{KEY} is being run by another process" in err
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not (folder / "train").exists()

    code, out, err = finished(agent_evo("rounds", "run", KEY))
    assert code == 0, err
    assert f"was killed: it is ended on record, and {KEY} goes on" in err
    assert f"{KEY}: complete" in out
    assert len((folder / "train/metrics.jsonl").read_text().splitlines()) == 10
    assert list(folder.glob(".*.partial-*")) == []


def test_a_killed_command_of_dagster_does_not_block_the_round(agent_evo, tmp_path):
    assert finished(agent_evo("rounds", "open", "--allow-empty"))[0] == 0
    home = tmp_path / "home"
    command = (
        "dagster asset materialize -m agent_evo_dagster.definitions "
        "--select training_config,training_run --partition"
    )
    killed = subprocess.Popen(
        [sys.executable, "-m", *command.split(), KEY],
        cwd=ROOT,
        env={
            **os.environ,
            "AGENT_EVO_HOME": str(home),
            "AGENT_EVO_TRAINER_PYTHON": str(tmp_path / "python"),
            "AGENT_EVO_TEST_HANGS": "1",
            "DAGSTER_HOME": str(home / "dagster"),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(home / "runs" / KEY / "in-the-middle", killed)
    finally:
        killed.kill()
        killed.wait()
    code, _, err = finished(agent_evo("rounds", "run", KEY, "--only", "training"))
    assert code == 0, err
    assert f"was killed: it is ended on record, and {KEY} goes on" in err


def test_unknown_and_malformed_rounds_are_refused_in_one_line(agent_evo):
    for key, said in [
        ("round-0009", "is not open. No round is open yet. Open one: agent-evo rounds open"),
        ("a/b", "'a/b' is not a round key"),
    ]:
        code, out, err = finished(agent_evo("rounds", "run", key))
        assert (code, out) == (1, "")
        assert said in err
        assert "Traceback" not in err


def test_a_worker_that_fails_is_told_with_its_log_and_without_a_traceback_of_ours(agent_evo, tmp_path):
    code, _, err = finished(
        agent_evo("rounds", "run", "--allow-empty", AGENT_EVO_TRAINER_PYTHON="/bin/false")
    )
    assert code == 1
    assert "training_run: " in err
    assert "The training worker failed (exit code 1)" in err
    assert f"{KEY} did not finish. What it did is kept; go on with: agent-evo rounds run {KEY}" in " ".join(
        err.split()
    )
    assert "Traceback" not in err
    rounds = tmp_path / "home" / "rounds"
    assert [one.step for one in failures_of(rounds / KEY)] == ["training_run"]
    assert "exit code 1" in failures_of(rounds / KEY)[0].message
    assert (rounds / KEY / RUN_LOCK).read_text() == ""


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    folder = tmp_path / "instance"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as found:
        yield found


def a_run(instance: dg.DagsterInstance, key: str, **tags: str) -> dg.DagsterRun:
    @dg.job
    def job() -> None: ...

    run = instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={"dagster/partition": key, **tags}
    )
    storage = instance.event_log_storage
    storage.set_concurrency_slots("training", 1)
    storage.claim_concurrency_slot("training", run.run_id, "training_run")
    return run


def test_a_dead_run_is_ended_and_gives_its_slot_back(instance, tmp_path):
    run = a_run(instance, KEY, **LAUNCHED)
    assert holders(instance, "training") == [run.run_id]
    with running(tmp_path, "round-0002"):
        assert end_abandoned(instance, tmp_path, "round-0002", POOL) == [run.run_id]
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
    assert holders(instance, "training") == []


def test_a_run_that_is_at_work_is_left_alone(instance, tmp_path):
    run = a_run(instance, KEY, **LAUNCHED)
    with running(tmp_path, KEY), running(tmp_path, "round-0002"):
        assert end_abandoned(instance, tmp_path, "round-0002", POOL) == []
        assert (tmp_path / KEY / RUN_LOCK).read_text() == str(os.getpid())
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.STARTED


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def a_run_of(instance: dg.DagsterInstance, pid: int) -> dg.DagsterRun:
    """A run of another command, started by the process `pid`."""
    run = a_run(instance, KEY)
    event = dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, "job", pid=pid)
    instance.report_dagster_event(event, run.run_id)
    return run


def test_a_run_of_another_command_is_ended_when_its_process_is_gone(instance, tmp_path):
    run = a_run_of(instance, dead_process())
    assert end_abandoned(instance, tmp_path / "rounds", "round-0002", POOL) == [run.run_id]
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
    assert holders(instance, POOL) == []


def test_a_run_of_another_command_that_lives_is_left_alone(instance, tmp_path):
    a_run_of(instance, os.getpid())
    assert end_abandoned(instance, tmp_path / "rounds", "round-0002", POOL) == []


def test_a_run_of_another_container_that_is_at_work_is_left_alone(instance, tmp_path):
    a_run_of(instance, dead_process())  # a number that means nothing here
    with staged_run(tmp_path / "runs" / KEY / "train"):
        assert end_abandoned(instance, tmp_path / "rounds", "round-0002", POOL) == []
    assert len(end_abandoned(instance, tmp_path / "rounds", "round-0002", POOL)) == 1


def test_the_wait_for_a_slot_ends_with_who_holds_it(instance, tmp_path):
    wait_for_slot(instance, tmp_path / "rounds", POOL, limit=0)
    run = a_run_of(instance, os.getpid())
    with pytest.raises(RoundError, match=rf"Run {run.run_id} holds the slot of 'training'.*make ui"):
        wait_for_slot(instance, tmp_path / "rounds", POOL, limit=0.1, pause=0.05)


def test_a_run_that_dies_while_another_waits_gives_its_slot_back(instance, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    a_run_of(instance, process.pid)
    with ending_abandoned(instance, tmp_path / "rounds", POOL, pause=0.05):
        assert holders(instance, POOL) != []
        process.kill()
        process.wait()
        wait_for_slot(instance, tmp_path / "rounds", POOL, limit=20, pause=0.05)
    assert holders(instance, POOL) == []


def test_a_run_of_the_daemon_is_left_to_the_daemon(instance, tmp_path):
    run = a_run(instance, KEY)
    assert end_abandoned(instance, tmp_path, KEY, POOL) == []
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.STARTED


def test_a_round_is_run_by_one_process_at_a_time(tmp_path):
    with (
        running(tmp_path, KEY),
        pytest.raises(RoundError, match="run by another process"),
        running(tmp_path, KEY),
    ):
        pass
