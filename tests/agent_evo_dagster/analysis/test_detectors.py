import json
from dataclasses import dataclass

import polars as pl
import pytest

from agent_evo_dagster.analysis.detectors.recovery import FailureRecovery
from agent_evo_dagster.analysis.detectors.registry import default_detectors
from agent_evo_dagster.analysis.detectors.repeated_call import RepeatedCall
from agent_evo_dagster.analysis.detectors.repeated_failure import RepeatedFailure
from agent_evo_dagster.analysis.findings import make_finding
from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.analysis.types import Severity
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame


def run(command, outcome="success", **fields):
    error = "Exit code 1\nValueError: no" if outcome == "failure" else None
    return call("Bash", {"command": command}, outcome, error=error, **fields)


def find(calls, *detectors):
    steps = step_frame(calls)
    return find_in_sessions(steps, segment_frame(steps), detectors=detectors or None)


def test_every_detector_has_a_name_of_its_own():
    names = [detector.name for detector in default_detectors()]
    assert len(names) == len(set(names))


def test_a_detector_of_ones_own_takes_the_place_of_the_shipped_ones():
    @dataclass(frozen=True)
    class Counts:
        name: str = "counts"

        def find(self, sessions):
            size = len(sessions.calls)
            return [
                make_finding(
                    "session", self.name, severity=Severity.INFO, summary=f"{size} calls",
                    evidence=[], count=size, confidence=1.0, data={},
                )
            ]  # fmt: skip

    frame = find([run("a"), run("b")], Counts())
    assert frame.select("kind", "count").rows() == [("counts", 2)]


@pytest.mark.parametrize(("failures", "severity"), [(2, "warning"), (3, "warning"), (4, "error")])
def test_the_longer_an_agent_insists_the_graver_it_is(failures, severity):
    frame = find([run("x", "failure")] * failures, RepeatedFailure())
    assert frame["severity"].to_list() == [severity]


def test_repetitions_are_counted_over_the_sessions_that_repeat():
    calls = [run("x", "failure", session=session) for session in ("s1", "s1", "s2", "s2", "s2", "s3")]
    (finding,) = find(calls, RepeatedFailure()).to_dicts()
    assert finding["count"] == 5
    assert json.loads(finding["data"])["sessions"] == ["s1", "s2"]
    assert json.loads(finding["data"])["most_in_one_session"] == 3


def test_repetitions_need_not_be_in_a_row():
    assert find([run("x", "failure"), run("y"), run("x", "failure")], RepeatedFailure()).height == 1


def test_failing_calls_are_not_counted_as_polling():
    assert find([run("x", "failure")] * 9, RepeatedCall()).is_empty()


@pytest.mark.parametrize(("calls", "found"), [(4, 0), (5, 1)])
def test_polling_begins_with_the_fifth_equal_call(calls, found):
    assert find([run("tail log")] * calls, RepeatedCall()).height == found


def test_polling_in_two_sessions_is_two_findings():
    calls = [run("tail log", session=session) for session in ["s1"] * 5 + ["s2"] * 6]
    assert sorted(find(calls, RepeatedCall())["count"]) == [5, 6]


def test_one_success_recovers_all_the_failures_before_it():
    calls = [run("python a.py 1", "failure"), run("python a.py 2", "failure"), run("python a.py 3")]
    (finding,) = find(calls, FailureRecovery()).to_dicts()
    assert finding["count"] == 1
    assert "failed 2 times" in finding["summary"]
    assert "a similar call with another input succeeded 2 calls later" in finding["summary"]


def test_two_failures_with_a_success_each_are_two_recoveries_of_one_kind():
    calls = [run("python a.py 1", "failure"), run("python a.py 2")] * 2
    (finding,) = find(calls, FailureRecovery()).to_dicts()
    assert finding["count"] == 2
    assert "failed 2 times" in finding["summary"]
    assert "succeeded 1 call later" in finding["summary"]


def test_a_retry_that_works_unchanged_is_said_to_be_one():
    (finding,) = find([run("make", "failure"), run("make")], FailureRecovery()).to_dicts()
    assert "the same input succeeded 1 call later" in finding["summary"]
    assert json.loads(finding["data"])["input_unchanged"] == 1


def test_a_success_beyond_the_window_is_no_recovery():
    calls = [run("python a.py", "failure"), *[run("ls")] * 3, run("python a.py")]
    assert find(calls, FailureRecovery(window=3)).is_empty()
    assert find(calls, FailureRecovery(window=4)).height == 1


def test_another_tool_does_not_recover_a_failure():
    calls = [call("Read", {"file_path": "/a"}, "failure", error="x"), call("Write", {"file_path": "/a"})]
    assert find(calls, FailureRecovery()).is_empty()


def test_findings_over_many_equal_calls_stay_small():
    frame = find([run("x " * 5000)] * 200, RepeatedCall())
    assert frame.select(pl.col("data").str.len_chars()).item() < 1000
    assert frame["evidence"].list.len().item() <= 60
