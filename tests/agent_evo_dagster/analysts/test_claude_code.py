"""Claude Code as an analyst: without tools, alone in an empty folder, bounded, or not there at all."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_evo_dagster.analysts.budget import Budget
from agent_evo_dagster.errors import AnalystBudgetError, AnalystError, ClientError
from tests.agent_evo_dagster.analysts.fake_client import FakeClient, result
from tests.agent_evo_dagster.analysts.material import analyse, answer, choice


@pytest.fixture
def client(tmp_path, monkeypatch):
    fake = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setenv("CLAUDECODE", "1")
    return fake


@pytest.fixture
def ask(tmp_path):
    def run(**options):
        return analyse(choice("claude_code", tmp_path / "analyses", **{"model": None, **options}))

    return run


def test_its_structured_output_becomes_drafts_with_what_the_client_counted(client, ask):
    used = {"claude-b": {"inputTokens": 1}, "claude-a": {}}
    client.plan(result(json.loads(answer()), modelUsage=used))
    run = ask().run
    assert run.told == "claude-a, claude-b"
    assert (run.analyst, run.model, run.usage.calls, run.usage.tokens) == ("claude_code", None, 1, 60)
    assert run.usage.cost_usd == 0.01


def test_it_runs_without_tools_settings_or_servers_in_an_empty_folder_that_is_gone(client, ask):
    client.plan(result(json.loads(answer())))
    ask(model="sonnet", budget=Budget(money=0.5, output_tokens=4000))
    (seen,) = client.seen
    flags = seen["flags"]
    assert flags["--tools"] == "" == flags["--setting-sources"] and flags["--strict-mcp-config"]
    assert flags["--disable-slash-commands"] and flags["--no-session-persistence"]
    assert flags["--permission-mode"] == "dontAsk" and flags["--max-turns"] == "4"
    assert flags["--max-budget-usd"] == "0.500000" and flags["--model"] == "sonnet"
    assert json.loads(flags["--json-schema"])["type"] == "object"
    assert seen["files"] == [] and not Path(seen["cwd"]).exists()
    assert "<<<DATA" in seen["prompt"] and "<<<DATA " not in flags["--system-prompt"].replace(
        "<<<DATA and", ""
    )
    assert "CLAUDECODE" not in seen["env"] and seen["env"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "4000"


def test_an_answer_in_words_is_repaired_once(client, ask):
    client.plan(result(result="Sure!"), result(result=answer()))
    analysis = ask()
    assert analysis.run.repaired and len(analysis.drafts) == 1
    assert "Your answer was:\nSure!" in client.seen[1]["prompt"]


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_max_budget_usd", "error_during_execution"])
def test_a_client_that_stopped_at_a_bound_is_an_error(client, ask, subtype):
    client.plan(result(subtype=subtype, is_error=True, result="Not logged in\x1b[31m"), exit=1)
    with pytest.raises(AnalystError, match=f"{subtype}: Not logged in"):
        ask()
    assert len(client.seen) == 1


@pytest.mark.parametrize(
    "printed", ["", "Hello", '{"type": "result"}', '{"is_error": false, "num_turns": -1}']
)
def test_a_client_that_prints_no_result_is_an_error_with_what_it_said(client, ask, printed):
    client.plan(printed, stderr="cannot \x1b[1mgo on", exit=3)
    with pytest.raises(AnalystError, match=r"ended with 3 and printed no result.*cannot <U\+001B>"):
        ask()


def test_a_client_that_takes_too_long_is_ended(client, ask):
    client.plan(result(), sleep=60)
    began = time.monotonic()
    with pytest.raises(AnalystBudgetError, match=r"ended after .*ANALYST_SECONDS"):
        ask(budget=Budget(seconds=1.0))
    assert time.monotonic() - began < 20


def test_more_money_than_the_budget_is_an_error(client, ask):
    client.plan(result(json.loads(answer()), total_cost_usd=2.0))
    with pytest.raises(AnalystBudgetError, match=r"2.0000 of 1.0 USD"):
        ask(budget=Budget(money=1.0))


def test_a_machine_without_the_client_says_how_to_install_it(ask, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientError, match="npm install -g @anthropic-ai/claude-code"):
        ask()


def test_a_client_ends_when_the_process_that_started_it_is_killed(client):
    client.plan(result(), sleep=60)
    code = (
        "from pathlib import Path; from agent_evo_dagster.analysts.client import run_client; "
        f"run_client([], prompt='', folder=Path({str(client.folder)!r}), seconds=60)"
    )
    starter = subprocess.Popen([sys.executable, "-c", code])
    while not client.seen:
        time.sleep(0.02)
    starter.kill()
    starter.wait()
    gone = time.monotonic() + 10
    while _runs(client.seen[0]["pid"]) and time.monotonic() < gone:
        time.sleep(0.02)
    assert not _runs(client.seen[0]["pid"])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_client_that_cannot_be_started_is_an_error(client, ask):
    (client.bin / "claude").write_text("#!/nowhere/python\n")
    with pytest.raises(ClientError, match="cannot be started"):
        ask()
