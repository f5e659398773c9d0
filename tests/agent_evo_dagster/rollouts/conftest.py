"""A user with a key and nothing else, and the fake client on their PATH."""

import os
from pathlib import Path

import pytest

from tests.agent_evo_dagster.analysts.fake_client import FakeClient


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*os.environ,):
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-the-login")


@pytest.fixture
def client(tmp_path: Path, user: None, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    fake = FakeClient(tmp_path / "client")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin:/bin")
    return fake
