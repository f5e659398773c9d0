import os
import subprocess
import sys
import time

import pytest

from agent_evo_dagster.training.lease import LEASE_VARIABLE, renew

WORKER = """
import sys, time
from agent_evo_dagster.training.lease import exit_without_lease
exit_without_lease(patience=float(sys.argv[1]))
print("began", flush=True)
time.sleep(60)
"""


@pytest.fixture
def worker(tmp_path):
    """Starts a worker under a lease with some patience, in a group of its own."""
    started = []

    def start(patience):
        renew(tmp_path / "lease")
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(patience)], start_new_session=True, text=True,
            env={**os.environ, LEASE_VARIABLE: str(tmp_path / "lease")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == "began\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_worker_goes_on_while_its_lease_is_renewed(worker, tmp_path):
    process, until = worker(3), time.monotonic() + 6
    while time.monotonic() < until:
        renew(tmp_path / "lease")
        time.sleep(0.2)
    assert process.poll() is None


def test_a_worker_ends_when_nobody_renews_its_lease(worker):
    process = worker(0.5)
    assert process.wait(20) != 0
    assert "Nobody waits for this worker" in process.stderr.read()


def test_a_worker_ends_when_its_lease_is_gone(worker, tmp_path):
    process = worker(3600)
    (tmp_path / "lease").unlink()
    assert process.wait(20) != 0
