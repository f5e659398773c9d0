import polars as pl
import pytest

from agent_evo_dagster.analysis.calls import by_trajectory, read_calls
from agent_evo_dagster.analysis.detectors.missing_file import missing_path
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.trajectories.types import Outcome
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame

NO_SEGMENTS = pl.DataFrame(schema=SEGMENT_SCHEMA)


def calls(*given, segments=NO_SEGMENTS):
    return read_calls(step_frame(given), segments)


def test_only_tool_calls_are_calls():
    prompt = {**call("Bash", {}), "kind": "prompt"}
    assert [one.step_id for one in calls(prompt, call("Bash", {}))] == ["st-1"]


def test_calls_come_in_the_order_of_their_index_whatever_the_order_of_rows():
    steps = step_frame([call("Bash", {"command": str(at)}) for at in range(5)])
    shuffled = read_calls(steps.reverse(), NO_SEGMENTS)
    assert [one.input for one in shuffled] == ["0", "1", "2", "3", "4"]


def test_trajectories_are_kept_apart():
    mixed = calls(*(call("Bash", {}, session=s) for s in ("s1", "s2", "s1")))
    assert [[one.session_id for one in group] for group in by_trajectory(mixed)] == [["s1", "s1"], ["s2"]]


def test_a_call_knows_its_segment_and_skill():
    steps = step_frame([call("Bash", {})])
    (one,) = read_calls(steps, segment_frame(steps, "rllm-config"))
    assert (one.segment_id, one.skill) == ("g-t-s1", "rllm-config")
    assert one.evidence == ("g-t-s1", "st-0", "e-0")


def test_a_call_outside_every_segment_has_no_skill():
    (one,) = calls(call("Bash", {}))
    assert (one.segment_id, one.skill) == (None, None)
    assert one.evidence == ("st-0", "e-0")


def test_a_call_without_an_outcome_or_a_name_is_kept():
    (one,) = calls({**call("Bash", {}), "outcome": None, "tool_name": None})
    assert one.outcome is Outcome.UNKNOWN
    assert one.tool == "(unnamed tool)"
    assert not one.failed
    assert not one.succeeded


@pytest.mark.parametrize(
    ("tool_input", "path"),
    [
        ({"file_path": "/a/b"}, "/a/b"),
        ({"notebook_path": "/n.ipynb"}, "/n.ipynb"),
        ({"pattern": "x", "path": "/src"}, "/src"),
        ({"file_path": ""}, None),
        ({"file_path": 7}, None),
        ({"command": "cat /a"}, None),
        (["file_path"], None),
        (None, None),
    ],
)
def test_the_path_of_a_call_is_what_its_input_names(tool_input, path):
    assert calls(call("Read", tool_input))[0].path == path


def test_a_failure_without_an_error_text_is_told_by_its_reason():
    (one,) = calls(
        {**call("Edit", {}, "failure", response={"success": False}), "outcome_reason": "success=false"}
    )
    assert one.error == "success=false"


def test_a_successful_response_is_never_read_as_an_error():
    (one,) = calls(call("Bash", {}, response="<tool_use_error>quoted</tool_use_error>"))
    assert one.error is None


@pytest.mark.parametrize(
    ("error", "path"),
    [
        ("Exit code 1\ncat: /p/x.yaml: No such file or directory", "/p/x.yaml"),
        ("Exit code 2\nls: cannot access 'runs/7': No such file or directory", "runs/7"),
        ("Exit code 1\nFileNotFoundError: [Errno 2] No such file or directory: 'data/a.json'", "data/a.json"),
        ("ENOENT", None),
        ("Exit code 1\nfile exists", None),
        (None, None),
    ],
)
def test_the_missing_path_of_a_command_is_the_one_that_its_error_names(error, path):
    (one,) = calls(call("Bash", {"command": "x"}, "failure", error=error))
    assert missing_path(one) == path


@pytest.mark.parametrize("column", ["step_id", "tool_input", "outcome", "event_ids"])
def test_steps_that_lack_a_column_are_refused_by_its_name(column):
    with pytest.raises(AnalysisError, match=f"frame of steps .* lacks {column}"):
        read_calls(step_frame([call("Bash", {})]).drop(column), NO_SEGMENTS)
