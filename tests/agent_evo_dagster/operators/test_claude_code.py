"""An operator that follows the skills: alone in its place, bounded, captured, and taken by the round."""

import json
import time
from pathlib import Path

import pytest

from agent_evo_dagster.capture.claude_settings import KINDS
from agent_evo_dagster.errors import ClientError
from agent_evo_dagster.operators.claude_code import TASK, ClaudeCode
from agent_evo_dagster.operators.direct import Direct
from agent_evo_dagster.operators.types import Bounds
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.status import sessions_of
from tests.agent_evo_dagster.analysts.fake_client import result
from tests.agent_evo_dagster.operators.scripted_model import ScriptedModel, needs_client

START = {"hook_event_name": "SessionStart", "source": "startup"}
CALL = {
    "hook_event_name": "PostToolUse",
    "tool_name": "Skill",
    "tool_input": {"skill": "rllm-run"},
    "tool_response": {"success": True, "commandName": "rllm-run"},
    "tool_use_id": "toolu_1",
}
END = {"hook_event_name": "SessionEnd", "reason": "other"}
WHOLE = [START, CALL, END]


def test_its_session_is_taken_by_the_round_that_is_opened_next(client, settings, template, operate):
    client.plan(result(num_turns=7, total_cost_usd=0.25, modelUsage={"m-2": {}, "m-1": {}}), hooks=WHOLE)
    run = operate()
    assert (run.outcome, run.exit_code, run.turns, run.cost_usd, run.tokens) == ("success", 0, 7, 0.25, 60)
    assert (run.client, run.models) == ("2.1.0 (Claude Code)", ("m-1", "m-2"))
    manifest = open_round(settings, template, RoundRequest(operated=run))
    assert sessions_of(manifest) == {run.session_id}
    assert (manifest.operator, manifest.operated) == ("claude_code", run)


def test_it_has_the_compiled_skills_a_bank_and_a_home_of_its_own(client, settings, operate):
    client.plan(result(), hooks=WHOLE)
    operate(ClaudeCode(Bounds(turns=9, money=0.5, seconds=60.0), model="sonnet"), request="rate 1e-4")
    (seen,) = client.seen
    skills = {path.split("/")[2] for path in seen["files"] if path.endswith("SKILL.md")}
    assert skills == {"rllm-run"}
    assert ".agent_evo/skill_bank/bank.yaml" in seen["files"] and seen["prompt"].endswith("rate 1e-4")
    assert seen["env"]["AGENT_EVO_HOME"] == f"{seen['cwd']}/.agent_evo"
    flags = seen["flags"]
    assert flags["--setting-sources"] == "project" and flags["--strict-mcp-config"]
    assert flags["--permission-mode"] == "dontAsk" and "Bash(agent-evo train *)" in flags["--allowedTools"]
    assert "patches" not in flags["--allowedTools"] and flags["--disallowedTools"] == "Edit(./.claude/**)"
    assert (flags["--max-turns"], flags["--max-budget-usd"], flags["--model"]) == ("9", "0.500000", "sonnet")
    assert not Path(seen["cwd"]).exists() and not list(settings.root.glob("**/SKILL.md"))


def test_every_kind_of_event_is_captured_by_hooks_out_of_its_reach(client, operate):
    client.plan(result(), hooks=[{"hook_event_name": kind} for kind in KINDS])
    operate()
    (seen,) = client.seen
    assert not Path(seen["flags"]["--settings"]).is_relative_to(seen["cwd"])


def test_of_its_user_it_has_the_login_alone(client, operate, user, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "t")
    monkeypatch.setenv("OPENAI_API_KEY", "t")
    monkeypatch.setenv("AGENT_EVO_BANK", "/somewhere")
    (user / ".claude").mkdir()
    (user / ".claude" / ".credentials.json").write_text("{}")
    (user / ".claude" / "settings.json").write_text('{"hooks": {}}')
    client.plan(result(), hooks=WHOLE)
    operate()
    env = client.seen[0]["env"]
    assert env["ANTHROPIC_API_KEY"] == "sk-ant-the-login"
    assert not {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "AGENT_EVO_BANK"} & env.keys()
    assert str(user) not in json.dumps({**env, "PATH": ""})
    assert client.seen[0]["config"] == {".credentials.json": "{}"}


def test_a_login_that_the_client_renewed_is_its_users(client, operate, user):
    (user / ".claude").mkdir()
    login = user / ".claude" / ".credentials.json"
    old, new = (json.dumps({"claudeAiOauth": {"accessToken": "t", "expiresAt": end}}) for end in (1, 2))
    login.write_text(old)
    client.plan(result(), hooks=WHOLE, login=new)
    operate()
    assert login.read_text() == new and login.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude", ".git"])
def test_it_does_not_work_inside_of_a_project(client, operate, tmp_path, monkeypatch, name):
    (tmp_path / "project" / "tmp").mkdir(parents=True)
    (tmp_path / "project" / name).touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "project" / "tmp"))
    with pytest.raises(ClientError, match=f"would read .*{name}.*Set TMPDIR"):
        operate()
    assert client.seen == [] and list((tmp_path / "project" / "tmp").iterdir()) == []


def test_without_a_request_it_is_given_the_usual_task(client, operate):
    client.plan(result(), hooks=WHOLE)
    operate()
    assert client.seen[0]["prompt"] == TASK


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"subtype": "error_max_turns", "is_error": True}, "error_max_turns"),
        ({"subtype": "error_max_budget_usd", "is_error": True}, "error_max_budget_usd"),
        ({"subtype": "success", "is_error": True}, "error"),
        ({"subtype": "x\x1b[1m", "is_error": True}, "x<U+001B>[1m"),
    ],
)
def test_one_that_stopped_at_a_bound_worked_all_the_same(client, operate, fields, outcome):
    client.plan(result(**fields), hooks=WHOLE, exit=1)
    run = operate()
    assert (run.outcome, run.exit_code) == (outcome, 1)


def test_one_that_takes_too_long_is_ended_and_recorded(client, operate):
    client.plan(result(), hooks=WHOLE, sleep=60)
    began = time.monotonic()
    run = operate(ClaudeCode(Bounds(seconds=1.5)))
    assert (run.outcome, run.turns, run.cost_usd) == ("timeout", None, None)
    assert "turns unknown, cost unknown" in run.line() and time.monotonic() - began < 30


def test_one_that_cannot_log_in_opens_no_round(client, settings, operate):
    told = {"is_error": True, "total_cost_usd": 0, "result": "Not logged in\x1b[0m"}
    client.plan(result(**told), hooks=WHOLE, exit=1)
    with pytest.raises(ClientError, match=r"error: Not logged in<U\+001B>.*setup-token"):
        operate()
    assert not settings.operators.exists()


@pytest.mark.parametrize(("hooks", "said"), [([], "was not captured"), ([START, CALL], "has no end")])
def test_a_session_that_no_round_could_take_is_an_error(client, operate, hooks, said):
    client.plan(result(), hooks=hooks, stderr="hooks are off")
    with pytest.raises(ClientError, match=f"{said}.*hooks are off"):
        operate()


def test_a_client_without_a_result_is_an_error(client, operate):
    client.plan("Segmentation fault", hooks=WHOLE, exit=139)
    with pytest.raises(ClientError, match="ended with 139 and printed no result"):
        operate()


def test_a_machine_without_the_client_says_so_before_anything_is_written(
    monkeypatch, settings, operate, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientError, match="leave out --operator claude_code"):
        operate()
    assert not settings.operators.exists() and not settings.spool.exists()


def test_what_was_paid_for_before_a_kill_is_not_paid_for_twice(client, settings, operate):
    client.plan(result(), hooks=WHOLE)
    first = operate(request="a")  # and then the process that would have opened the round was killed
    assert operate(request="a") == first and len(client.seen) == 1
    assert operate(request="b") != first
    assert operate(request="a", taken={first.session_id}) != first and len(client.seen) == 3


def test_one_that_was_killed_while_it_worked_can_be_run_again(client, settings, operate, monkeypatch):
    client.plan(result(), hooks=WHOLE)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("agent_evo_dagster.operators.claude_code._recorded", killed)
        operate()
    assert not Path(client.seen[0]["cwd"]).exists() and not settings.operators.exists()
    assert operate().session_id != client.seen[0]["flags"]["--session-id"] and len(client.seen) == 2


def test_a_record_that_cannot_be_read_is_named(client, settings, operate):
    (settings.operators / "x.json").parent.mkdir(parents=True)
    (settings.operators / "x.json").write_text("{")
    with pytest.raises(ClientError, match=r"x\.json.*Delete it"):
        operate()


def test_the_direct_operator_starts_nothing(client, settings, template, operate):
    assert operate(Direct()) is None and client.seen == []
    manifest = open_round(settings, template, RoundRequest(allow_empty=True))
    assert (manifest.operator, manifest.operated) == ("direct", None)


@needs_client
@pytest.mark.slow
def test_the_real_client_follows_a_skill_within_its_bounds_and_is_captured(
    settings, template, operate, user, monkeypatch
):
    (user / ".claude").mkdir()
    (user / ".claude" / "CLAUDE.md").write_text("MEMORY OF THE USER")
    script = [
        ("Skill", {"skill": "rllm-run"}),
        ("Bash", {"command": "agent-evo config check '20 steps'", "description": "look"}),
        ("Bash", {"command": "agent-evo config check $ANTHROPIC_API_KEY", "description": "leak"}),
        ("Bash", {"command": "agent-evo patches approve p-1", "description": "decide"}),
        ("Write", {"file_path": str(Path.home() / "out.txt"), "content": "x"}),
        ("Write", {"file_path": ".claude/skills/rllm-run/SKILL.md", "content": "x"}),
        ("Write", {"file_path": "note.txt", "content": "x"}),
        "Looked.",
    ]
    with ScriptedModel(script) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        run = operate(ClaudeCode(Bounds(seconds=120.0)), request="20 steps")
    assert (run.outcome, run.exit_code, run.turns) == ("success", 0, 9) and run.cost_usd > 0
    assert model.keys == {"sk-ant-the-login"} and "MEMORY OF THE USER" not in model.asked
    skill, look, leak, decide, outside, own, note = model.results
    assert "Launching skill" in skill and "max_steps" in look and "created successfully" in note
    assert all("is_error" in denied for denied in (leak, decide, outside, own))
    manifest = open_round(settings, template, RoundRequest(operated=run))
    assert sessions_of(manifest) == {run.session_id} and not (user / "out.txt").exists()
    files = {record.file.split("/")[0] for record in manifest.slices}
    assert files == {"hooks", "transcripts"}


@needs_client
@pytest.mark.slow
def test_the_real_client_stops_at_its_bound_of_turns(operate, monkeypatch):
    with ScriptedModel([("Skill", {"skill": "rllm-run"})] * 5) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        run = operate(ClaudeCode(Bounds(turns=2, seconds=120.0)))
    assert (run.outcome, run.exit_code) == ("error_max_turns", 1)
