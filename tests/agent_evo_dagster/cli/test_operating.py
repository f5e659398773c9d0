"""`agent-evo rounds run --operator`: what a person sees of an agent that works before a round is opened."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.cli import rounds
from agent_evo_dagster.cli.main import main
from agent_evo_dagster.cli.operating import bounds_of
from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.operators.types import Bounds
from agent_evo_dagster.rounds.status import sessions_of
from agent_evo_dagster.rounds.store import RoundStore
from tests.agent_evo_dagster.analysts.fake_client import FakeClient, result

HOOKS = [{"hook_event_name": "SessionStart"}, {"hook_event_name": "SessionEnd"}]
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("AGENT_EVO_BANK", raising=False)
    monkeypatch.setattr(rounds, "launch", lambda *_: 0)
    return tmp_path / "home"


@pytest.fixture
def cli(home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["agent-evo", "rounds", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_an_agent_works_and_the_round_that_is_opened_has_its_session(cli, home, tmp_path, monkeypatch):
    fake = FakeClient(tmp_path / "client")
    fake.plan(result(num_turns=3), hooks=HOOKS)
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    code, out, _ = cli("open", "--operator", "claude_code", "--operator-budget", "money=0.25")
    assert code == 0 and "success, exit code 0, 3 turns, 0.0100 USD, session " in out
    assert fake.seen[0]["flags"]["--max-budget-usd"] == "0.250000"
    (manifest,) = RoundStore(home / "rounds").all()
    assert manifest.operated is not None and sessions_of(manifest) == {manifest.operated.session_id}


def test_without_the_client_no_round_is_opened(cli, home, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = cli("run", "--operator", "claude_code")
    assert (code, out) == (1, "") and "no program 'claude' is on PATH" in err and "Traceback" not in err
    assert "or leave out --operator claude_code." in err
    assert not (home / "rounds").exists()


def test_an_agent_may_be_asked_in_any_words(cli, home, tmp_path, monkeypatch):
    fake = FakeClient(tmp_path / "client")
    fake.plan(result(num_turns=3), hooks=HOOKS)
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    code, out, _ = cli("open", "--operator", "claude_code", "--request", "look around")
    assert code == 0 and "not understood" not in out


def test_no_agent_is_paid_for_a_round_that_would_have_nobody_to_ask(cli, home, tmp_path, monkeypatch):
    fake = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setenv("AGENT_EVO_JUDGES", "llm")
    code, _, err = cli("open", "--operator", "claude_code")
    assert code == 1 and "judge llm: " in err and fake.seen == []


def test_what_cannot_be_trained_is_refused_before_anything_is_paid(cli, tmp_path, monkeypatch):
    fake = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    code, _, _ = cli("open", "--operator", "claude_code", "--set", "max_steps=0")
    assert code == 1 and fake.seen == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--operator-budget", "money=1"], "Add --operator claude_code"),
        (["run", "round-0001", "--operator", "claude_code"], "or the key"),
        (["run", "--operator", "claude_code", "--operator-budget", "turns=2.5"], "turns are whole"),
        (["run", "--operator", "claude_code", "--operator-budget", "money=inf"], "money=inf"),
        (["run", "--operator", "claude_code", "--operator-budget", "tokens=5"], "turns, seconds, money"),
    ],
)
def test_what_contradicts_itself_is_refused(cli, home, arguments, said):
    code, out, err = cli(*arguments)
    assert (code, out) == (1, "") and said in " ".join(err.split()) and not (home / "rounds").exists()


def test_bounds_that_are_not_given_are_the_usual_ones():
    assert bounds_of(["turns=3", "seconds=9"]) == Bounds(turns=3, seconds=9.0)
    with pytest.raises(SettingsError):
        bounds_of(["money=0"])
