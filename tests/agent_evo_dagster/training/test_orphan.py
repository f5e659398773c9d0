"""A worker that notices the end of the process that started it."""

import os
import subprocess
import sys

import pytest

from agent_evo_dagster.errors import WorkerError
from agent_evo_dagster.training.orphan import PARENT_FD, exit_with_parent

PROGRAM = (
    "import time; from agent_evo_dagster.training.orphan import exit_with_parent; exit_with_parent(); "
    "print('up', flush=True); time.sleep(60)"
)


def test_without_a_launcher_nothing_is_watched(monkeypatch):
    monkeypatch.delenv(PARENT_FD, raising=False)
    exit_with_parent()


@pytest.mark.parametrize("value", ["", "none", "987654"])
def test_a_descriptor_that_is_not_open_is_an_error(monkeypatch, value):
    monkeypatch.setenv(PARENT_FD, value)
    with pytest.raises(WorkerError, match="not an open descriptor"):
        exit_with_parent()


def test_the_end_of_the_pipe_ends_the_process_alone_where_it_leads_no_group():
    read_end, write_end = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, PARENT_FD: str(read_end)},
        pass_fds=(read_end,),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(read_end)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        os.close(write_end)
        assert process.wait(10) == 1
        assert process.stderr is not None
        assert b"is gone" in process.stderr.read()
