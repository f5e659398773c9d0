"""`agent-evo rounds watch`: what it prints, and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_evo_dagster.cli import watching
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.rounds.progress import Progress

KEY = "round-0001"
AT_WORK = Progress(KEY, "running", "train", "train", 2, 8, 3.0, {"reward": 0.25, "kl": None})


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Progress]:
    """What the next looks will see; the last one again and again."""
    seen: list[Progress] = []

    def in_turn() -> Iterator[Progress]:
        yield from seen
        while True:
            yield seen[-1]

    turns = in_turn()
    monkeypatch.setattr(watching, "progress_of", lambda settings, key, *, now: next(turns))
    return seen


def watch(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rounds", "watch", KEY, "--every", "0.1", *arguments])


def test_one_look_prints_one_line(looks: list[Progress]) -> None:
    looks.append(AT_WORK)
    done = watch("--once")
    assert done.exit_code == 0
    assert done.output == (
        "round-0001 running train: train, step 2 of 8; reward 0.25, kl NaN, 3 s ago; LOOK: not finite: kl\n"
    )


def test_a_line_is_printed_for_news_alone_until_the_end(looks: list[Progress]) -> None:
    later = Progress(KEY, "running", "train", "train", 2, 8, 4.0, {"reward": 0.25, "kl": None})
    looks += [AT_WORK, later, Progress(KEY, "complete", metrics={"reward": 0.5})]
    done = watch()
    assert done.exit_code == 0
    assert [line.split(";")[0] for line in done.output.splitlines()] == [
        "round-0001 running train: train, step 2 of 8",
        "round-0001 complete",
    ]


def test_a_failed_job_ends_it_with_the_tail_of_its_log(looks: list[Progress], tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("first\nValueError: bad\n")
    looks.append(Progress(KEY, "failed", "train", "train", 2, 8, 9.0, log=tmp_path / "worker.log"))
    done = watch()
    assert done.exit_code == 3
    assert "  | ValueError: bad\n" in done.output
    assert "go on: agent-evo rounds run round-0001" in done.output


def test_a_round_that_nobody_runs_is_given_up(looks: list[Progress]) -> None:
    looks.append(Progress(KEY, "open"))
    done = watch("--patience", "0.2")
    assert (done.exit_code, "nothing was at work on round-0001 for 0.2 s" in done.output) == (3, True)
    assert watch("--once").exit_code == 0


def test_json_has_one_object_a_line(looks: list[Progress]) -> None:
    looks += [AT_WORK, Progress(KEY, "waiting")]
    told = [json.loads(line) for line in watch("--json").output.splitlines()]
    assert [(one["state"], one["step"], one["signs"]) for one in told] == [
        ("running", 2, ["not finite: kl"]),
        ("waiting", None, []),
    ]


@pytest.mark.parametrize("every", ["0", "1e12", "inf", "nan"])
def test_a_pause_that_nobody_can_wait_is_refused_before_the_first_look(looks, every):
    looks.append(AT_WORK)
    result = CliRunner().invoke(app, ["rounds", "watch", KEY, "--every", every, "--once"])
    assert result.exit_code == 2 and not result.stdout
