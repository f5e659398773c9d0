"""Whether a task was done is told by a command in bounds, or by the last line of an answer."""

import contextlib
import errno
import os
import signal
import socket
import sys
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


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize(
    "leave",
    [
        os.mkfifo,
        a_socket,
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.parent / "nowhere"),
    ],
    ids=["fifo", "socket", "folder", "link", "dead link"],
)
def test_what_is_no_file_in_the_place_of_one_is_a_task_not_done_at_once(tmp_path, leave):
    leave(tmp_path / "test_it.py")
    with within(5):
        assert not passes(Check(command="true", files={"test_it.py": "x"}), tmp_path, tmp_path)
    with within(5), pytest.raises(TaskError, match=r"test_it\.py is in its way"):
        lay_out(tmp_path, {"test_it.py": "x"})


@contextlib.contextmanager
def within(seconds):
    def late(*_):
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_file_on_the_way_to_a_file_is_in_its_way(tmp_path):
    (tmp_path / "data").write_text("1")
    with pytest.raises(TaskError, match="data is in its way"):
        lay_out(tmp_path, {"data/x/y": "1"})


def test_a_hard_link_that_was_left_is_not_written_through(tmp_path):
    work, own = tmp_path / "work", tmp_path / "own"
    work.mkdir()
    own.write_text("mine")
    (work / "test_it.py").hardlink_to(own)
    lay_out(work, {"test_it.py": "x"})
    assert (own.read_text(), (work / "test_it.py").read_text()) == ("mine", "x")


def gone(folder):
    folder.rmdir()


def a_file(folder):
    folder.rmdir()
    folder.write_text("")


def a_link(folder):
    folder.rmdir()
    folder.symlink_to(folder.parent)


@pytest.mark.parametrize("leave", [gone, a_file, a_link])
@pytest.mark.parametrize("files", [{}, {"x": "1"}])
def test_a_working_folder_that_is_none_is_a_task_not_done(tmp_path, leave, files):
    (tmp_path / "work").mkdir()
    leave(tmp_path / "work")
    assert not passes(Check(command="true", files=files), tmp_path / "work", tmp_path)
    assert not (tmp_path / "x").exists()


def test_a_folder_that_was_locked_is_a_task_not_done(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    real = os.open

    def refusing(path, flags, *args, **options):
        if path == "x":  # as for a user who is not root, in a folder of mode 555
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", refusing)
    assert not passes(Check(command="true", files={"data/x": "1"}), tmp_path, tmp_path)


@pytest.mark.parametrize("taken", [0, errno.ENOSPC])
def test_a_fault_of_the_machine_is_no_verdict_on_the_task(tmp_path, monkeypatch, taken):
    if taken:
        monkeypatch.setattr(os, "unlink", lambda *_, **__: (_ for _ in ()).throw(OSError(taken, "full")))
        (tmp_path / "x").write_text("")
    else:
        monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(OSError, match=r"full|no/such/python"):
        passes(Check(command="true", files={"x": "1"}), tmp_path, tmp_path)


def alive(folder, name="pid"):
    """Whether the process whose number is in a file is there after a while in which it can end."""
    until = time.monotonic() + 5
    number = (folder / name).read_text().strip()
    while os.path.exists(f"/proc/{number}/fd/0"):  # noqa: PTH110
        if time.monotonic() > until:
            return True
        time.sleep(0.02)
    return False


def test_a_check_that_does_not_end_is_not_passed_and_nothing_of_it_is_left(tmp_path):
    began = time.monotonic()
    check = Check(command="sleep 30 & echo $! > pid; wait", seconds=0.2)
    assert not passes(check, tmp_path, tmp_path) and time.monotonic() - began < 10
    assert not alive(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, what leaves the group is not found")
@pytest.mark.parametrize(("end", "seconds", "passed"), [("", 30.0, True), ("; sleep 30", 0.3, False)])
def test_a_helper_that_leaves_the_group_of_a_check_ends_with_it(tmp_path, end, seconds, passed):
    helper = "setsid sh -c 'echo $$ > pid; exec sleep 30' & while [ ! -s pid ]; do sleep 0.01; done"
    check = Check(command=f"({helper}){end}", seconds=seconds)
    assert passes(check, tmp_path, tmp_path) is passed
    assert not alive(tmp_path)


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
        ("", "**", False),
    ],
)
def test_the_last_line_is_the_answer(said, expected, same):
    assert answers(said, expected) is same
