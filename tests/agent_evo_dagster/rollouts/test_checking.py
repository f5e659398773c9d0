"""Whether a task was done is told by a command in bounds, or by the last line of an answer."""

import os
import time

import pytest

from agent_evo_dagster.errors import TaskError
from agent_evo_dagster.rollouts.checking import answers, lay_out, passes
from agent_evo_dagster.rollouts.tasks import Check


def test_what_the_check_brings_stands_over_what_was_left(tmp_path):
    (tmp_path / "expected").write_text("whatever was left")
    check = Check(command="test $(cat expected) = 3", files={"expected": "3"})
    assert passes(check, tmp_path, tmp_path)


def test_a_link_that_was_left_leads_no_file_out_of_the_folder(tmp_path):
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    out.mkdir()
    (work / "data").symlink_to(out)
    with pytest.raises(TaskError, match="in its way"):
        lay_out(work, {"data/x": "1"})
    assert not passes(Check(command="true", files={"data/x": "1"}), work, tmp_path) and not list(
        out.iterdir()
    )


def test_a_check_that_does_not_end_is_not_passed_and_nothing_of_it_is_left(tmp_path):
    began = time.monotonic()
    check = Check(command="sleep 30 & echo $! > pid; wait", seconds=0.2)
    assert not passes(check, tmp_path, tmp_path) and time.monotonic() - began < 10
    gone = time.monotonic() + 5
    while time.monotonic() < gone and os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}/fd/0"):  # noqa: PTH110
        time.sleep(0.02)
    assert time.monotonic() < gone


def test_a_check_has_no_key_and_no_home_of_its_user(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    command = f'test -z "$ANTHROPIC_API_KEY" && test "$HOME" = {tmp_path}'
    assert passes(Check(command=command), tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("said", "expected", "same"),
    [
        ("42", "42", True),
        ("It is so.\n\n**42**\n", "42", True),
        ("`a  b`", "a b", True),
        ("42\nI think", "42", False),
        ("142", "42", False),
        ("", "42", False),
    ],
)
def test_the_last_line_is_the_answer(said, expected, same):
    assert answers(said, expected) is same
