import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.analysis.sessions import find_in_sessions
from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.errors import AnalysisError
from agent_evo_dagster.segments.types import SEGMENT_SCHEMA
from agent_evo_dagster.trajectories.types import STEP_SCHEMA, Outcome
from tests.agent_evo_dagster.analysis.builders import call, segment_frame, step_frame

MISSING = "File does not exist. Note: your current working directory is /home/user/project."


def findings(calls, skill="rllm-run"):
    steps = step_frame(calls)
    return find_in_sessions(steps, segment_frame(steps, skill))


def kind(frame, name):
    return frame.filter(pl.col("kind") == name).to_dicts()


def test_a_call_that_fails_twice_with_the_same_input_is_a_repeated_failure():
    frame = findings(
        [
            call("Bash", {"command": "make  run", "description": "first"}, "failure", error="Exit code 2\nx"),
            call("Bash", {"description": "again", "command": "make run"}, "failure", error="Exit code 2\nx"),
        ]
    )
    (finding,) = kind(frame, "repeated_failure")
    assert finding["count"] == 2
    assert finding["target_skill"] == "rllm-run"
    assert finding["target_section"] is None
    assert finding["evidence"] == ["g-t-s1", "st-0", "e-0", "st-1", "e-1"]
    assert "make run" in finding["summary"]
    assert frame.schema == FINDING_SCHEMA


def test_one_failure_in_each_of_two_sessions_is_no_repetition():
    failing = [
        call("Bash", {"command": "x"}, "failure", error="Exit code 1", session=s) for s in ("s1", "s2")
    ]
    assert kind(findings(failing), "repeated_failure") == []


def test_words_such_as_failed_in_a_successful_call_find_nothing():
    same = call(
        "Bash", {"command": "pytest"}, "success", response={"stdout": "3 failed, No such file or directory"}
    )
    assert findings([same, same])["kind"].to_list() == ["effort"]


@pytest.mark.parametrize("outcome", ["denied", "interrupted", "pending", "unknown"])
def test_only_failures_are_failures(outcome):
    same = call("Read", {"file_path": "/a"}, outcome, error=MISSING)
    assert set(findings([same, same])["kind"]) <= {"effort", "denied"}


def test_a_failure_and_the_similar_success_after_it_are_a_recovery_with_its_cost():
    frame = findings(
        [
            call(
                "Bash",
                {"command": "python train.py --gpus 8"},
                "failure",
                error="Exit code 1\nRuntimeError: 8",
            ),
            call("Read", {"file_path": "/a/train.py"}),
            call(
                "Bash",
                {"command": "python train.py --gpus 4"},
                "failure",
                error="Exit code 1\nRuntimeError: 4",
            ),
            call("Bash", {"command": "python train.py --gpus 2"}),
        ]
    )
    (finding,) = kind(frame, "failure_recovery")
    data = json.loads(finding["data"])
    assert finding["count"] == 1
    assert data["calls_spent"] == 3
    assert data["signature"] == "Exit code 1 | RuntimeError: <n>"
    assert data["examples"] == [{"failed": "python train.py --gpus 8", "worked": "python train.py --gpus 2"}]


def test_a_success_of_another_command_is_no_recovery():
    frame = findings(
        [
            call("Bash", {"command": "python train.py"}, "failure", error="Exit code 1"),
            call("Bash", {"command": "ls"}),
        ]
    )
    assert kind(frame, "failure_recovery") == []


def test_a_file_read_in_the_wrong_folder_and_then_in_the_right_one_is_a_recovery():
    frame = findings(
        [
            call("Read", {"file_path": "/wrong/config.yaml"}, "failure", error=MISSING),
            call("Read", {"file_path": "/right/config.yaml"}),
        ]
    )
    assert len(kind(frame, "failure_recovery")) == 1


def test_a_recovery_does_not_reach_into_another_session():
    frame = findings(
        [
            call("Bash", {"command": "python x.py"}, "failure", error="Exit code 1", session="s1"),
            call("Bash", {"command": "python x.py"}, session="s2"),
        ]
    )
    assert kind(frame, "failure_recovery") == []


def test_calls_of_a_missing_file_name_the_file():
    frame = findings([call("Read", {"file_path": "/p/none.txt"}, "failure", error=MISSING)] * 2)
    (finding,) = kind(frame, "missing_file")
    assert finding["count"] == 2
    assert json.loads(finding["data"])["path"] == "/p/none.txt"


def test_a_missing_file_of_a_command_is_taken_from_its_error():
    error = "Exit code 1\ncat: /p/gone.yaml: No such file or directory"
    frame = findings([call("Bash", {"command": "cat /p/gone.yaml"}, "failure", error=error)])
    (finding,) = kind(frame, "missing_file")
    assert json.loads(finding["data"])["path"] == "/p/gone.yaml"


def test_another_failure_of_a_file_tool_is_not_a_missing_file():
    frame = findings(
        [call("Read", {"file_path": "/p"}, "failure", error="EISDIR: illegal operation on a directory")]
    )
    assert kind(frame, "missing_file") == []


def test_a_validation_error_is_read_from_the_response_that_stands_in_its_place():
    response = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
    same = call("Edit", {"file_path": "/a", "old_string": "x"}, "failure", response=response)
    (finding,) = kind(findings([same, same]), "repeated_failure")
    assert "String to replace not found in file." in finding["summary"]


def test_the_same_call_many_times_is_polling():
    (finding,) = kind(findings([call("Bash", {"command": "tail log"})] * 5), "repeated_call")
    assert finding["count"] == 5


def test_findings_of_free_segments_have_no_target():
    same = call("Bash", {"command": "x"}, "failure", error="Exit code 1")
    assert findings([same, same], skill=None)["target_skill"].to_list() == [None, None]


def test_no_steps_give_no_findings():
    assert find_in_sessions(pl.DataFrame(schema=STEP_SCHEMA), pl.DataFrame(schema=SEGMENT_SCHEMA)).is_empty()
    assert find_in_sessions(pl.DataFrame(), pl.DataFrame()).schema == FINDING_SCHEMA


def test_a_frame_that_lacks_a_column_is_refused_by_name():
    with pytest.raises(AnalysisError, match="lacks outcome"):
        find_in_sessions(step_frame([]).drop("outcome"), pl.DataFrame(schema=SEGMENT_SCHEMA))


anything = st.one_of(st.none(), st.text(max_size=30), st.floats(), st.lists(st.integers(), max_size=3))
hostile_calls = st.lists(
    st.builds(
        lambda tool, value, outcome, error, session: {
            **call(tool, value, outcome, error=error, session=session),
            "tool_input": value if isinstance(value, str) else json.dumps(value),
        },
        st.sampled_from(["Bash", "Read", ""]),
        st.one_of(
            anything,
            st.builds(dict, command=anything, file_path=anything),
            st.sampled_from(['{"command": NaN}', "[" * 3000, '{"a":']),
        ),
        st.sampled_from(list(Outcome)).map(str),
        st.one_of(st.none(), st.text(max_size=60), st.just(MISSING)),
        st.sampled_from(["s1", "s2"]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(hostile_calls)
def test_no_session_text_breaks_a_detector_and_the_same_steps_give_the_same_bytes(calls):
    steps = step_frame(calls)
    segments = segment_frame(steps)
    first = find_in_sessions(steps, segments)
    assert first.equals(find_in_sessions(steps.reverse(), segments))
    assert first["finding_id"].is_unique().all()
