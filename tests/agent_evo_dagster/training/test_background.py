import threading
import time

import pytest

from agent_evo_dagster.training.background import Background, DeadlineError


def test_the_result_is_what_the_work_returned():
    assert Background(lambda: 3).result(5) == 3
    assert Background(lambda: 3).result(None) == 3


def test_what_the_work_raises_is_raised_where_the_result_is_asked_for():
    with pytest.raises(ZeroDivisionError):
        Background(lambda: 1 / 0).result(5)


def test_work_that_is_late_is_a_deadline_and_not_a_timeout_of_its_own():
    release = threading.Event()
    with pytest.raises(DeadlineError, match=r"not done within 0\.05 seconds"):
        Background(release.wait).result(0.05)
    release.set()

    def slow():
        raise TimeoutError("the tool's own")

    with pytest.raises(TimeoutError, match="the tool's own"):
        Background(slow).result(5)


def test_the_deadline_counts_from_the_start_of_the_work():
    release = threading.Event()
    work = Background(release.wait)
    time.sleep(0.1)
    began = time.monotonic()
    with pytest.raises(DeadlineError):
        work.result(0.1)
    assert time.monotonic() - began < 0.08
    release.set()
