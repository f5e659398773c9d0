"""What one look at a round tells, from files as workers leave them."""

import json
import os
from pathlib import Path

import pytest

from agent_evo_dagster.errors import RoundError, WorkerError
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.progress import Progress, log_tail, progress_of
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.request import ProbeSpec, WorkerRequest

BANK = Path(__file__).parents[3] / "skill_bank"
NOBODY = 2**22 + 1  # above the highest number that a process can have
KEY = "round-0001"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    open_round(settings, BANK, RoundRequest(allow_empty=True))
    return settings


def job(settings: Settings, name: str = "train", *, process: int | None = None) -> Path:
    """The folder of a job at work, as its launcher and its worker leave it."""
    folder = settings.runs / KEY / f".{name}.partial-{process or os.getpid()}"
    folder.mkdir(parents=True)
    config = TrainingConfig.model_validate({"max_steps": 8})
    probe = ProbeSpec(candidate=config, seeds=(1,), steps=3)
    request = WorkerRequest(
        job="probe" if name.startswith("probe") else "train",
        run_dir=folder,
        config=config,
        init_checkpoint=None,
        probe=probe,
    )
    (folder / "REQUEST.json").write_text(request.model_dump_json())
    (folder / "heartbeat.json").write_text(json.dumps({"at": 1000.0, "phase": "train", "step": 2}))
    return folder


def metrics(folder: Path, **values: float | None) -> None:
    lines = [{"step": 1, "metrics": {"reward": 0.1}}, {"step": 2, "metrics": values}]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def look(settings: Settings, now: float = 1003.0) -> Progress:
    return progress_of(settings, KEY, now=now)


def test_a_round_that_nobody_ran_is_open(settings: Settings) -> None:
    assert look(settings) == Progress(KEY, "open")


def test_a_job_at_work_tells_step_age_and_metrics(settings: Settings) -> None:
    folder = job(settings)
    metrics(folder, kl=0.01, reward=0.3, other=1.0)
    seen = look(settings)
    assert (seen.state, seen.job, seen.phase, seen.step, seen.steps) == ("running", "train", "train", 2, 8)
    assert (seen.silent, dict(seen.metrics), seen.signs) == (3.0, {"reward": 0.3, "kl": 0.01}, ())
    assert list(seen.metrics) == ["reward", "kl"]
    assert seen.log == folder / "worker.log"


def test_a_job_that_just_began_has_no_sign_of_life_yet(settings: Settings) -> None:
    folder = job(settings)
    for name in ("heartbeat.json", "REQUEST.json"):
        (folder / name).unlink()
    seen = look(settings)
    assert (seen.state, seen.phase, seen.step, seen.steps, seen.silent) == ("running", None, None, None, None)


def test_a_probe_tells_the_steps_of_its_short_trainings(settings: Settings) -> None:
    job(settings, "probe-p-0123456789abcdef")
    assert (look(settings).job, look(settings).steps) == ("probe-p-0123456789abcdef", 3)


def test_silence_and_numbers_that_are_none_are_signs(settings: Settings) -> None:
    metrics(job(settings), reward=0.3, loss=None, grad_norm=None)
    assert look(settings, now=1070).signs == ("not finite: grad_norm, loss", "no sign of life for 70 s")


def test_a_job_whose_process_is_gone_has_failed(settings: Settings) -> None:
    folder = job(settings, process=NOBODY)
    seen = look(settings, now=9000)
    assert (seen.state, seen.job, seen.signs) == ("failed", "train", ())
    (folder / "worker.log").write_text("one\ntwo\nthree\n")
    assert log_tail(folder / "worker.log", 2) == ["two", "three"]
    assert log_tail(folder / "none", 2) == []


def test_between_jobs_the_last_step_of_training_is_told(settings: Settings) -> None:
    folder = settings.runs / KEY / "train"
    folder.mkdir(parents=True)
    metrics(folder, reward=0.4)
    assert look(settings) == Progress(KEY, "idle", metrics={"reward": 0.4})


def test_the_job_that_moved_last_is_told(settings: Settings) -> None:
    os.utime(job(settings) / "heartbeat.json", (1, 1))
    os.utime(settings.runs / KEY / f".train.partial-{os.getpid()}", (1, 1))
    job(settings, "evaluate")
    assert look(settings).job == "evaluate"


def test_a_line_that_is_being_written_is_left_for_the_next_look(settings: Settings) -> None:
    folder = job(settings)
    metrics(folder, reward=0.3)
    with (folder / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 3, "met')
    assert look(settings).metrics == {"reward": 0.3}
    (folder / "metrics.jsonl").write_text("[]\n")
    with pytest.raises(WorkerError, match=r"metrics\.jsonl, line 1 is not a step"):
        look(settings)


def test_a_round_that_is_not_open_is_refused(settings: Settings) -> None:
    with pytest.raises(RoundError, match="round-0002 was asked for and is not open"):
        progress_of(settings, "round-0002", now=0)
