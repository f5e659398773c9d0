"""What tests of operators share: a home, and how an operator is put to work in it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.operators.claude_code import ClaudeCode
from agent_evo_dagster.operators.protocol import Operator
from agent_evo_dagster.operators.types import Assignment, OperatorRun
from agent_evo_dagster.rounds.opening import ensure_bank
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.analysts.fake_client import FakeClient
from tests.agent_evo_dagster.skills.banks import bank_at

Operate = Callable[..., OperatorRun | None]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """The fake client on PATH, whose user has a key, settings of their own, and secrets."""
    fake = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    return fake


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user, who has nothing but a key."""
    for name in (*os.environ,):
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-the-login")
    (tmp_path / "user").mkdir()
    return tmp_path / "user"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", bank=None, policy="auto")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A bank of one skill, from which the home's is made."""
    return bank_at(tmp_path / "template", "rllm-run").path


@pytest.fixture
def operate(settings: Settings, template: Path) -> Operate:
    def run(operator: Operator | None = None, request: str = "", **more: object) -> OperatorRun | None:
        bank = ensure_bank(settings, template)
        assignment = Assignment(request, bank, settings.spool, settings.operators, **more)
        return (operator or ClaudeCode()).operate(assignment)

    return run
