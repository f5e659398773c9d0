"""How a round stands, by what is on disk."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from agent_evo_dagster.errors import RoundError
from agent_evo_dagster.rounds.failures import (
    MOST_CHARACTERS,
    StepFailure,
    clear_failure,
    failures_of,
    record_failure,
)
from agent_evo_dagster.rounds.progress import progress_of
from agent_evo_dagster.rounds.state import RUN_LOCK, state_of
from agent_evo_dagster.settings import Settings
from agent_evo_dagster.warehouse import Warehouse

KEY = "round-0001"
NOBODY = 2**22 + 1  # above the highest number that a process can have


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "rounds" / KEY).mkdir(parents=True)
    return Settings(home=tmp_path)


@pytest.fixture
def folder(settings: Settings) -> Path:
    return settings.rounds / KEY


def failure(step: str, message: str = "refused", *, minute: int = 0) -> StepFailure:
    return StepFailure(step=step, message=message, at=datetime(2026, 1, 5, 9, minute, tzinfo=UTC))


def test_the_step_that_failed_first_is_told_until_it_is_made(settings: Settings, folder: Path) -> None:
    record_failure(folder, failure("segments", "no\n  room\x1b[2J", minute=2))
    record_failure(folder, failure("training_run", minute=1))
    assert state_of(settings, KEY).told == "failed at training_run: refused"
    clear_failure(folder, "training_run")
    assert state_of(settings, KEY).told == "failed at segments: no room[U+001B][2J"
    clear_failure(folder, "segments")
    clear_failure(folder, "segments")
    assert state_of(settings, KEY).told == "open"


def test_a_later_failure_of_a_step_replaces_the_earlier(folder: Path) -> None:
    record_failure(folder, failure("segments", "one"))
    record_failure(folder, failure("segments", "two", minute=1))
    assert [one.message for one in failures_of(folder)] == ["two"]


def put_folder(path: Path) -> None:
    path.mkdir()


def put_link(path: Path) -> None:
    path.symlink_to("nowhere")


def put_another_step(path: Path) -> None:
    path.write_text(failure("\x1b[2J").model_dump_json())


def put_no_zone(path: Path) -> None:
    path.write_text('{"step": "segments", "message": "m", "at": "2026-01-05T09:00:00"}')


@pytest.mark.parametrize("put", [put_folder, put_link, put_another_step, put_no_zone])
def test_a_record_that_cannot_be_read_is_told_by_its_round_and_by_nothing_else(settings, folder, put) -> None:
    record_failure(folder, failure("skills"))
    put(folder / "failures" / "segments.json")
    with pytest.raises(RoundError, match=r"cannot be read .*Delete it, then run the round again"):
        failures_of(folder)
    assert state_of(settings, KEY).word == "unreadable"


def test_a_record_that_is_taken_away_while_one_looks_is_none(folder, monkeypatch) -> None:
    record_failure(folder, failure("segments"))
    monkeypatch.setattr(Path, "glob", lambda _, __: [folder / "failures" / "skills.json"])
    assert failures_of(folder) == ()


def test_a_message_is_bounded_and_never_empty(folder: Path) -> None:
    record_failure(folder, failure("segments", "x" * 9000))
    record_failure(folder, failure("skills", " \n"))
    assert [len(one.message) for one in failures_of(folder)] == [
        MOST_CHARACTERS + 4,
        len("it gave no reason"),
    ]


@pytest.mark.parametrize("step", ["", "../manifest", "a/b", "a.b", "x" * 200])
def test_what_is_no_step_becomes_no_path(folder: Path, step: str) -> None:
    with pytest.raises(RoundError, match="is not a name"):
        record_failure(folder, failure(step))
    with pytest.raises(RoundError, match="is not a name"):
        clear_failure(folder, step)


@pytest.mark.parametrize(
    ("process", "word"), [(os.getpid(), "running"), (NOBODY, "failed at segments")], ids=["alive", "gone"]
)
def test_a_round_that_is_run_again_is_running_while_that_process_lives(
    settings: Settings, folder: Path, process: int, word: str
) -> None:
    record_failure(folder, failure("segments"))
    (folder / RUN_LOCK).write_text(str(process))
    assert state_of(settings, KEY).word == word


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "00", "\u0663", "9" * 30, "9" * 5000])
def test_a_lock_that_names_no_process_is_of_nobody(settings: Settings, folder: Path, text: str) -> None:
    (folder / RUN_LOCK).write_text(text)
    assert state_of(settings, KEY).word == "open"


@pytest.mark.parametrize(
    ("job", "step"),
    [
        ("train", "training_run"),
        ("evaluate", "policy_evaluation"),
        ("probe-p-0123456789abcdef", "patch_evaluation"),
    ],
)
def test_a_job_whose_process_is_gone_was_interrupted_at_its_step(
    settings: Settings, job: str, step: str
) -> None:
    (settings.runs / KEY / f".{job}.partial-{NOBODY}").mkdir(parents=True)
    why = "its process was interrupted or killed, or ended without a result"
    assert state_of(settings, KEY).told == f"interrupted at {step}: {why}"


def test_a_job_is_at_work_until_a_step_fails_after_its_last_sign_of_life(
    settings: Settings, folder: Path
) -> None:
    job = settings.runs / KEY / f".train.partial-{os.getpid()}"
    job.mkdir(parents=True)
    failed = failure("training_run")
    record_failure(folder, failed)
    assert state_of(settings, KEY).word == "running"
    os.utime(job, (0, failed.at.timestamp() - 1))
    assert state_of(settings, KEY).word == "failed at training_run"


def test_a_job_whose_last_sign_of_life_is_between_two_failures_is_not_at_work(
    settings: Settings, folder: Path
) -> None:
    job = settings.runs / KEY / f".train.partial-{os.getpid()}"
    job.mkdir(parents=True)
    first, last = failure("segments", minute=1), failure("training_run", minute=3)
    for one in (last, first):
        record_failure(folder, one)
    os.utime(job, (0, (first.at.timestamp() + last.at.timestamp()) / 2))
    assert state_of(settings, KEY).word == "failed at segments"


@pytest.mark.parametrize(("made_of", "word"), [(KEY, "idle"), ("round-00011", "open")])
def test_a_round_of_which_steps_were_made_without_training_is_begun(
    settings: Settings, made_of: str, word: str
) -> None:
    Warehouse(settings.warehouse).write(["hook_events"], made_of, pl.DataFrame({"a": [1]}))
    assert state_of(settings, KEY).word == word


def test_a_record_that_cannot_be_read_hides_no_other_round(settings: Settings, folder: Path) -> None:
    record_failure(folder, failure("segments"))
    (folder / "failures" / "segments.json").write_text("{")
    assert state_of(settings, KEY).word == "unreadable"
    with pytest.raises(RoundError, match=r"segments\.json cannot be read.*agent-evo rounds run round-0001"):
        failures_of(folder)


def test_a_look_at_a_round_tells_where_and_why_it_failed(settings: Settings, folder: Path) -> None:
    (folder / "manifest.json").write_text(
        json.dumps(
            {
                "key": KEY, "number": 1, "opened_at": "2026-01-05T09:00:00Z", "seed": 0, "request": "",
                "overrides": {}, "policy": "auto", "include_open_sessions": False, "slices": [],
                "bank_hash": "b" * 64, "parent": None,
            }
        )
    )  # fmt: skip
    record_failure(folder, failure("skill_patches"))
    seen = progress_of(settings, KEY, now=0.0)
    assert (seen.state, seen.failure, seen.job) == ("failed", "failed at skill_patches: refused", None)
