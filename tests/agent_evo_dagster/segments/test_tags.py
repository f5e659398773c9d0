"""Intents come from commands and kinds of files, never from words that only look like them."""

from typing import Any

import pytest

from agent_evo_dagster.segments.build import build_segments
from agent_evo_dagster.trajectories.build import build_trajectories
from tests.agent_evo_dagster.trajectories.event_frames import bash, call, hooks


def tags(*records: dict[str, Any]) -> list[str]:
    found = build_segments(build_trajectories(hooks(*records)))["tags"].to_list()
    assert len(found) == 1
    return list(found[0])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q tests", ["test"]),
        ("cd x && python -m pytest", ["test"]),
        ("cat latest.log", ["explore"]),
        ("echo 'run the tests'", []),
        ("echo pytest", []),
        ("PYTHONPATH=. timeout 60 python3 -u scripts/train_agent.py", ["train"]),
        ("python -c 'import train'", []),
        ("python show_trainer_constraints.py", []),
        ("sudo git status; ls | grep x", ["explore", "version_control"]),
        ("cat <<'EOF' > a.sh\npytest\ngit push\nEOF", ["explore"]),
        ("nohup torchrun train.py &", ["train"]),
        ("/usr/bin/ruff check .", ["lint"]),
        ("tail -f run.log", ["monitor"]),
        ("kill -9 12", ["stop"]),
        ("", []),
    ],
)
def test_tags_of_a_command(command: str, expected: list[str]) -> None:
    assert tags(*bash(command, "c1")) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/p/a.py", ["edit_code"]),
        ("/p/test_a.py", ["test"]),
        ("/p/latest.py", ["edit_code"]),
        ("/p/b.spec.ts", ["test"]),
        ("/p/README.md", ["edit_docs"]),
        ("/p/skills/x/SKILL.md", ["edit_skill"]),
        ("/p/config.yaml", ["edit_config"]),
        ("/p/noending", []),
        (None, []),
    ],
)
def test_tags_of_an_edit(path: str | None, expected: list[str]) -> None:
    assert tags(*call("Edit", {"file_path": path}, {"filePath": path}, "c1")) == expected


def test_tags_of_tools() -> None:
    agent = call("Agent", {}, {"status": "completed"}, "c1")
    fetch = call("WebFetch", {"url": "x"}, {"code": 200}, "c2")
    strange = call("mcp__x__y", {"command": "pytest"}, {"ok": 1}, "c3")
    assert tags(*agent, *fetch, *strange) == ["delegate", "research"]
