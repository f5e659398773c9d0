"""How a worker is started, watched and ended. The worker is a small script, given as the backend's Python."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.errors import TrainingError, WorkerError
from agent_evo_dagster.training import launch
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.heartbeat import Heartbeat, read_heartbeat
from agent_evo_dagster.training.launch import run_worker, staged_run
from agent_evo_dagster.training.request import WorkerRequest, WorkerResult

PRELUDE = """\
import json, os, pathlib, signal, subprocess, sys, time

request = json.loads(pathlib.Path(sys.argv[-1]).read_text())
run_dir = pathlib.Path(request["run_dir"])

def beat(phase, step):
    part = run_dir / "heartbeat.part"
    part.write_text(json.dumps({"at": time.time(), "phase": phase, "step": step}))
    part.replace(run_dir / "heartbeat.json")

def result(**changes):
    whole = {"job": "train", "backends": ["hf"], "steps": 2, "init_sha256": "0", "packages": {},
             "peak_memory_bytes": 1, "wall_seconds": 1, "cpu_seconds": 1}
    (run_dir / "result.json").write_text(json.dumps({**whole, **changes}))
"""

GRANDCHILD = 'subprocess.Popen(["sleep", "60"]).pid'


@pytest.fixture
def worker(tmp_path: Path) -> Callable[[str], Path]:
    def write(body: str) -> Path:
        script = tmp_path / "python"
        script.write_text(f"#!{sys.executable} -S\n{PRELUDE}\n{textwrap.dedent(body)}")
        script.chmod(0o755)
        return script

    return write


@pytest.fixture
def request_(tmp_path: Path) -> WorkerRequest:
    return WorkerRequest(
        job="train", run_dir=tmp_path / "run", config=TrainingConfig(), init_checkpoint=None, checkpoint=None
    )


def run(request: WorkerRequest, python: Path, **changes: object) -> WorkerResult:
    settings: dict[str, object] = {"heartbeat_timeout": 20, "time_limit": 20, **changes}
    return run_worker(request, python=python, **settings)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def number_in(path: Path) -> int:
    assert wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_a_worker_that_ends_well_gives_its_result(worker, request_):
    assert run(request_, worker("result(steps=7)")).steps == 7


def test_the_worker_reads_the_request_that_was_made(worker, request_, tmp_path):
    run(request_, worker("result(); print(json.dumps(sys.argv), request['config']['max_steps'])"))
    written = WorkerRequest.model_validate_json((tmp_path / "run/REQUEST.json").read_bytes())
    assert written == request_
    assert "agent_evo_dagster.training.worker" in (tmp_path / "run/worker.log").read_text()


def test_relative_paths_hold_although_the_worker_runs_in_its_own_folder(
    worker, request_, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run(request_.model_copy(update={"run_dir": Path("run")}), worker("result(); open('stray', 'w').close()"))
    assert (tmp_path / "run/result.json").exists()
    assert (tmp_path / "run/stray").exists()


def test_a_failed_worker_is_told_with_exit_code_phase_step_and_log(worker, request_):
    with pytest.raises(WorkerError) as caught:
        run(request_, worker("beat('rollout', 4); [print('line', n) for n in range(50)]; sys.exit(3)"))
    message = str(caught.value)
    assert "exit code 3" in message
    assert "phase 'rollout', step 4" in message
    assert "line 49" in message
    assert "line 20\n" in message
    assert "line 19\n" not in message


def test_a_worker_killed_from_outside_is_told_by_the_name_of_the_signal(worker, request_):
    with pytest.raises(WorkerError, match=r"killed by SIGKILL.*memory.*before its first phase"):
        run(request_, worker("os.kill(os.getpid(), signal.SIGKILL)"))


def test_a_python_that_is_not_there_is_told_with_the_setting_that_names_it(request_, tmp_path):
    with pytest.raises(WorkerError, match=r"nowhere.*No such file.*AGENT_EVO_TRAINER_PYTHON"):
        run(request_, tmp_path / "nowhere")


def test_an_exit_without_a_result_is_an_error(worker, request_):
    with pytest.raises(WorkerError, match=r"without result\.json"):
        run(request_, worker("pass"))


def test_the_result_of_an_earlier_try_does_not_count(worker, request_):
    run(request_, worker("result()"))
    with pytest.raises(WorkerError, match=r"without result\.json"):
        run(request_, worker("pass"))


@pytest.mark.parametrize(("told", "said"), [(["verl"], "verl"), ([], "nobody"), (["hf", "verl"], "hf, verl")])
def test_another_backend_than_the_one_that_was_asked_is_an_error(worker, request_, told, said):
    asked = f"was asked to train with hf, and says that {said} trained"
    with pytest.raises(WorkerError, match=asked):
        run(request_, worker(f"result(backends={told})"))


def test_a_result_of_another_version_is_an_error(worker, request_):
    with pytest.raises(WorkerError, match="same version"):
        run(request_, worker("result(steps='many')"))


def test_a_silent_worker_is_ended(worker, request_, tmp_path):
    script = worker(
        "beat('rollout', 1); print(os.getpid(), file=open('pid', 'w'), flush=True); time.sleep(60)"
    )
    with pytest.raises(WorkerError, match=r"no sign of life for 0\.4 s in phase 'rollout', step 1"):
        run(request_, script, heartbeat_timeout=0.4)
    assert not alive(number_in(tmp_path / "run/pid"))


def test_a_worker_that_beats_is_not_silent_but_has_a_time_limit(worker, request_):
    script = worker("n = 0\nwhile True: n += 1; beat('rollout', n); time.sleep(0.05)")
    with pytest.raises(WorkerError, match="time limit of 1 s"):
        run(request_, script, heartbeat_timeout=0.6, time_limit=1)


def test_every_new_heartbeat_is_reported_once(worker, request_):
    seen: list[Heartbeat] = []
    run(
        request_, worker("beat('load', 0); time.sleep(.7); beat('rollout', 1); result()"), on_poll=seen.append
    )
    assert [(beat.phase, beat.step) for beat in seen] == [("load", 0), ("rollout", 1)]


def test_a_broken_heartbeat_is_an_error(worker, request_):
    with pytest.raises(WorkerError, match="not a heartbeat"):
        run(request_, worker("(run_dir / 'heartbeat.json').write_text('{'); time.sleep(60)"))


def test_cancelling_ends_the_helpers_of_the_worker_too(worker, request_, tmp_path):
    helper = tmp_path / "run/helper"
    script = worker(
        f"print({GRANDCHILD}, file=open('helper', 'w'), flush=True); beat('load', 0); time.sleep(60)"
    )
    with pytest.raises(WorkerError, match="was cancelled in phase 'load'"):
        run(request_, script, should_cancel=lambda: read_heartbeat(request_.run_dir) is not None)
    assert wait_for(lambda: not alive(number_in(helper)))


def test_an_interrupt_ends_a_worker_that_ignores_the_polite_signal(worker, request_, tmp_path, monkeypatch):
    monkeypatch.setattr("agent_evo_dagster.training.process_group.GRACE_SECONDS", 0.3)
    script = worker(
        f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"print(os.getpid(), file=open('pid', 'w'), flush=True)\n"
        f"print({GRANDCHILD}, file=open('helper', 'w'), flush=True)\n"
        f"beat('load', 0); time.sleep(60)"
    )

    def interrupt(_: Heartbeat) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request_, script, on_poll=interrupt)
    assert not alive(number_in(tmp_path / "run/pid"))
    assert wait_for(lambda: not alive(number_in(tmp_path / "run/helper")))


def test_helpers_left_by_a_worker_that_ended_well_are_ended(worker, request_, tmp_path):
    run(request_, worker(f"print({GRANDCHILD}, file=open('helper', 'w'), flush=True); result()"))
    assert wait_for(lambda: not alive(number_in(tmp_path / "run/helper")))


def test_killing_the_launcher_ends_the_worker_and_its_helpers(worker, request_, tmp_path):
    script = worker(
        f"from agent_evo_dagster.training.orphan import exit_with_parent\n"
        f"exit_with_parent()\n"
        f"print({GRANDCHILD}, file=open('helper', 'w'), flush=True)\n"
        f"print(os.getpid(), file=open('pid', 'w'), flush=True)\n"
        f"time.sleep(60)"
    )
    program = (
        "import pathlib, sys\n"
        "from agent_evo_dagster.training.launch import run_worker\n"
        "from agent_evo_dagster.training.request import WorkerRequest\n"
        "request = WorkerRequest.model_validate_json(sys.argv[1])\n"
        "run_worker(request, python=pathlib.Path(sys.argv[2]), heartbeat_timeout=60, time_limit=60)\n"
    )
    root = Path(launch.__file__).parents[2]
    launcher = subprocess.Popen(
        [sys.executable, "-c", program, request_.model_dump_json(), str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    try:
        worker_pid, helper_pid = number_in(tmp_path / "run/pid"), number_in(tmp_path / "run/helper")
        assert alive(worker_pid)
        assert alive(helper_pid)
    finally:
        launcher.kill()
        launcher.wait()
    assert wait_for(lambda: not alive(worker_pid))
    assert wait_for(lambda: not alive(helper_pid))


def test_a_worker_neither_phones_home_nor_depends_on_the_machine(worker, request_, tmp_path, monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    run(
        request_,
        worker("result(); json.dump(dict(os.environ), open('env.json', 'w'))"),
        env={"MORE": "yes"},
    )
    env = json.loads((tmp_path / "run/env.json").read_text())
    silent = {"DO_NOT_TRACK": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "WANDB_MODE": "disabled"}
    repeatable = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "PYTHONHASHSEED": "0"}
    asked_for = {"HF_HUB_OFFLINE": "0", "MORE": "yes"}  # a person may want a model from the hub
    assert (silent | repeatable | asked_for).items() <= env.items()


def test_a_staged_run_appears_only_when_whole(tmp_path):
    target = tmp_path / "round-0001"
    with staged_run(target) as staging:
        (staging / "metrics.jsonl").write_text("{}")
        assert not target.exists()
    assert (target / "metrics.jsonl").read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_a_failed_run_keeps_the_old_folder_and_its_own_log(tmp_path):
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").touch()
    with pytest.raises(WorkerError), staged_run(target) as staging:
        (staging / "worker.log").touch()
        raise WorkerError("failed")
    assert [path.name for path in target.iterdir()] == ["old"]
    assert (staging / "worker.log").exists()


def test_leftovers_of_killed_runs_are_cleared(tmp_path):
    target = tmp_path / "run"
    (tmp_path / ".run.partial-12345").mkdir()
    (tmp_path / ".run.old-abc/tree").mkdir(parents=True)
    (tmp_path / ".run.old-abc/tree/kept").touch()
    with staged_run(target):
        assert (target / "kept").exists()  # the kill fell between taking away the old and placing the new
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run.lock", "run"]
    assert list(target.iterdir()) == []


def test_the_next_try_gets_the_states_of_the_last_one(tmp_path):
    left = tmp_path / ".train.partial-99999999" / "resume" / "checkpoint-5"
    left.mkdir(parents=True)
    (left / "whole").touch()
    with pytest.raises(RuntimeError), staged_run(tmp_path / "train") as folder:
        assert (folder / "resume/checkpoint-5/whole").is_file()
        raise RuntimeError("killed again")
    with staged_run(tmp_path / "train") as folder:
        assert [path.name for path in folder.iterdir()] == ["resume"]
        (folder / "resume").rename(tmp_path / "used")
    assert [path.name for path in (tmp_path / "train").iterdir()] == []


def test_any_run_clears_what_dead_processes_left_of_other_targets(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".probe-p-1.partial-{dead.pid}").mkdir()
    (tmp_path / f".evaluate.partial-{dead.pid}").mkdir()
    (tmp_path / f".probe-p-2.partial-{os.getpid()}").mkdir()  # failed; its log is told to the user
    (tmp_path / f".probe-p-3.partial-{dead.pid}").mkdir()
    with (tmp_path / ".probe-p-3.lock").open("ab") as lock:  # at work, in another container
        fcntl.flock(lock, fcntl.LOCK_EX)
        with staged_run(tmp_path / "train"):
            pass
    left = sorted(path.name for path in tmp_path.glob(".*.partial-*"))
    assert left == [f".probe-p-2.partial-{os.getpid()}", f".probe-p-3.partial-{dead.pid}"]


def test_two_runs_of_one_target_at_a_time_are_refused(tmp_path):
    with (
        staged_run(tmp_path / "run"),
        pytest.raises(TrainingError, match="Another process"),
        staged_run(tmp_path / "run"),
    ):
        pass


def test_heartbeats_are_read_as_written(tmp_path):
    assert read_heartbeat(tmp_path) is None
    (tmp_path / "heartbeat.json").write_text(json.dumps({"at": 1.5, "phase": "rollout", "step": 3}))
    assert read_heartbeat(tmp_path) == Heartbeat(at=1.5, phase="rollout", step=3)


def test_signals_and_codes_are_told_in_words():
    from agent_evo_dagster.training.process_group import describe_exit

    assert describe_exit(2) == "exit code 2"
    assert describe_exit(-signal.SIGSEGV) == "killed by SIGSEGV"
    assert describe_exit(-63) == "killed by signal 63"
