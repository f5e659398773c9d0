import json

import polars as pl
import pytest

from agent_evo_dagster.analysis.detectors.denied import Denied
from agent_evo_dagster.analysis.detectors.effort import Effort
from agent_evo_dagster.analysis.detectors.failure_signature import FailureSignature
from agent_evo_dagster.analysis.detectors.polling import Polling
from agent_evo_dagster.analysis.detectors.recovery import FailureRecovery
from agent_evo_dagster.analysis.detectors.skill_followed import SkillCommandFails, SkillStepSkipped
from agent_evo_dagster.analysis.detectors.unknown_name import UnknownName
from agent_evo_dagster.analysis.detectors.wrong_folder import WrongFolder
from agent_evo_dagster.analysis.sessions import find_in_sessions
from tests.agent_evo_dagster.analysis.builders import START, call, segment_frame, step_frame
from tests.agent_evo_dagster.analysis.session_builders import SKILLS, bash, find, usage_frame

ABSENT = "File does not exist. Note: your current working directory is /p."


def data(frame):
    (row,) = frame.to_dicts()
    return json.loads(row["data"])


def test_a_kind_of_failure_has_its_count_times_sessions_and_skills():
    calls = [
        bash("python a.py 1", "failure", "Exit code 1\nValueError: 17", session="s1"),
        bash("ls", session="s1"),
        bash("python b.py 2", "failure", "Exit code 1\nValueError: 42", session="s2"),
    ]
    (row,) = find(calls, FailureSignature()).to_dicts()
    told = json.loads(row["data"])
    assert (row["count"], told["sessions"], told["skills"]) == (2, ["s1", "s2"], {"rllm-run": 2})
    assert told["signature"] == "Exit code 1 | ValueError: <n>"
    assert told["first"] == START.isoformat()
    assert told["last"] > told["first"]
    assert row["severity"] == "warning"
    assert set(row["evidence"]) >= {"st-0", "st-2", "e-0", "e-2"}


def test_a_failure_seen_once_is_told_with_little_confidence():
    (row,) = find([bash("x", "failure")], FailureSignature()).to_dicts()
    assert row["severity"] == "info"
    assert row["confidence"] == pytest.approx(0.4)


def test_a_recovery_names_the_words_that_changed():
    frame = find(
        [bash("python train.py --lr 0.5", "failure"), bash("python train.py --lr 1e-4")], FailureRecovery()
    )
    told = data(frame)
    assert (told["fixed_by"], told["removed"], told["added"]) == ("another input", ["0.5"], ["1e-4"])


def test_a_recovery_with_the_same_input_names_the_calls_in_between():
    calls = [
        bash("python train.py", "failure"),
        bash("pip install torch"),
        bash("cat x", "failure"),
        bash("python train.py"),
    ]
    told = data(find(calls, FailureRecovery()))
    assert told["fixed_by"] == "calls in between"
    assert told["calls_between"] == ["Bash: pip install torch"]


def test_a_call_that_works_when_it_is_made_again_is_said_to():
    assert data(find([bash("x", "failure"), bash("x")], FailureRecovery()))["fixed_by"] == "trying again"


def test_a_file_sought_in_the_wrong_folder_tells_where_it_is():
    calls = [
        call("Read", {"file_path": "/p/configs/a.yaml"}, "failure", error=ABSENT),
        call("Read", {"file_path": "/p/conf/a.yaml"}),
        bash(
            "cat /p/configs/b.yaml",
            "failure",
            "Exit code 1\ncat: /p/configs/b.yaml: No such file or directory",
        ),
        bash("cat /p/conf/b.yaml"),
    ]
    (row,) = find(calls, WrongFolder()).to_dicts()
    told = json.loads(row["data"])
    assert told["subject"] == ["/p/configs", "/p/conf"]
    assert (row["count"], told["names"], row["severity"]) == (2, ["a.yaml", "b.yaml"], "warning")


def test_a_file_that_is_nowhere_is_in_no_wrong_folder():
    calls = [
        call("Read", {"file_path": "/p/a.yaml"}, "failure", error=ABSENT),
        call("Read", {"file_path": "/p/other.yaml"}),
        call("Read", {"file_path": "/q/a.yaml"}, "failure", error=ABSENT),
    ]
    assert find(calls, WrongFolder()).is_empty()


def test_a_file_found_in_another_session_is_not_taken_for_the_one_sought():
    calls = [
        call("Read", {"file_path": "/p/a.yaml"}, "failure", error=ABSENT, session="s1"),
        call("Read", {"file_path": "/q/a.yaml"}, session="s2"),
    ]
    assert find(calls, WrongFolder()).is_empty()


def test_refused_calls_are_counted_by_program_and_never_called_failures():
    refused = [bash(f"cd /p && sudo rm -rf {name}", "denied", "was rejected") for name in ("a", "b")]
    frame = find([*refused, bash("rm c"), call("Write", {"file_path": "/x"}, "denied")], Denied())
    assert frame.select("kind", "count").rows() == [("denied", 2), ("denied", 1)]
    assert json.loads(frame["data"][0])["command"] == "cd | rm"
    assert find(refused, FailureSignature()).is_empty()


@pytest.mark.parametrize(
    ("tool", "error", "what", "name", "nearest"),
    [
        ("Skill", "Unknown skill: rllm-runs", "skill", "rllm-runs", "rllm-run"),
        ("Skill", "Unknown skill: quite-other", "skill", "quite-other", None),
        ("Basch", "Error: No such tool available: Basch", "tool", "Basch", "Bash"),
    ],
)
def test_skills_and_tools_that_do_not_exist_are_named_with_the_nearest(tool, error, what, name, nearest):
    calls = [bash("ls"), call(tool, {}, "failure", error=error)]
    told = data(find(calls, UnknownName(), skills=SKILLS))
    assert (told["what"], told["name"], told["nearest"]) == (what, name, nearest)


def test_other_failures_that_speak_of_skills_are_not_unknown_names():
    error = "Exit code 1\nUnknown skill: rllm-runs"
    assert find([bash("agent-evo skills compile rllm-runs", "failure", error)], UnknownName()).is_empty()


def test_sleeping_and_looking_again_and_again_is_polling_with_its_time():
    calls = [bash(f"sleep 60 && tail -{n} run.log") for n in (20, 30, 40)]
    (row,) = find(calls, Polling()).to_dicts()
    assert json.loads(row["data"])["slept_seconds"] == 180
    assert "3 min 0 s of sleep" in row["summary"]
    assert json.loads(row["data"])["subject"] == ["sleep", "tail"]


@pytest.mark.parametrize(
    "commands",
    [
        ["sleep 60 && tail log"] * 2,
        ["tail log"] * 9,
        ["sleep 60"] * 9,
        ["echo 'sleep 60 | tail'"] * 0,
        ["cat > x <<'E'\nsleep 60; tail log\nE"] * 9,
    ],
)
def test_less_than_that_is_no_polling(commands):
    assert find([bash(command) for command in commands], Polling()).is_empty()


def test_a_prescribed_command_that_never_works_points_to_its_section():
    calls = [bash("cd /p && agent-evo rounds run round-0001 2>&1 | tail", "failure")] * 2 + [bash("ls")]
    (row,) = find(calls, SkillCommandFails(), skills=SKILLS).to_dicts()
    assert (row["target_skill"], row["target_section"]) == ("rllm-run", "start")
    assert "`agent-evo rounds run`, which rllm-run prescribes, failed each time: 2 times" in row["summary"]


@pytest.mark.parametrize(
    ("calls", "skill"),
    [
        ([bash("agent-evo rounds run", "failure")], "rllm-run"),
        ([bash("agent-evo rounds run", "failure")] * 3 + [bash("agent-evo rounds run")], "rllm-run"),
        ([bash("agent-evo rounds list", "failure")] * 3, "rllm-run"),
        ([bash("agent-evo rounds run", "failure")] * 3, "rllm-train"),
    ],
)
def test_a_command_that_worked_once_or_is_not_the_skills_is_no_fault_of_the_skill(calls, skill):
    assert find(calls, SkillCommandFails(), skill=skill, skills=SKILLS).is_empty()


def followed(*skills_of_sessions):
    """Segments of sessions, each of the skills given."""
    calls = [bash("ls", session=f"s{n}") for n, _ in enumerate(skills_of_sessions)]
    steps = step_frame(calls)
    frames = [
        segment_frame(steps.filter(pl.col("session_id") == f"s{n}"), skill).with_columns(
            segment_id=pl.lit(f"g{n}-{skill}")
        )
        for n, skills in enumerate(skills_of_sessions)
        for skill in skills
    ]
    return find_in_sessions(steps, pl.concat(frames), skills=SKILLS, detectors=[SkillStepSkipped()])


def test_a_step_that_no_session_took_is_a_sign_with_little_confidence():
    frame = followed(*[["rllm-train", "rllm-run"]] * 3)
    (row,) = frame.to_dicts()
    assert "rllm-train names the step rllm-clarify; of 3 sessions" in row["summary"]
    assert row["confidence"] <= 0.6
    assert row["target_section"] == "steps"


def test_a_step_that_one_session_took_or_that_few_could_take_is_no_finding():
    assert followed(["rllm-train", "rllm-clarify", "rllm-run"], *[["rllm-train", "rllm-run"]] * 3).is_empty()
    assert followed(*[["rllm-train"]] * 2).is_empty()


def test_effort_adds_up_time_tokens_and_cost_of_a_skill():
    usage = usage_frame([("st-0", 100, 10, 0.5), ("st-0", 50, 5, None), ("st-1", 1, 1, None)])
    (row,) = find([bash("a"), bash("b")], Effort(), usage=usage).to_dicts()
    told = json.loads(row["data"])
    assert (told["tokens_read"], told["tokens_written"], told["cost_usd"]) == (151, 16, 0.5)
    assert told["tool_seconds"] == 2.0
    assert told["share_of_tool_time"] == 1.0
    assert {step["step"]: step["tokens"] for step in told["dearest_steps"]} == {"st-0": 165, "st-1": 2}
    assert row["severity"] == "info"


def test_effort_without_durations_says_so():
    (row,) = find([{**bash("a"), "duration_ms": None}], Effort()).to_dicts()
    assert "no call tells how long it took" in row["summary"]
    assert json.loads(row["data"])["cost_usd"] is None
