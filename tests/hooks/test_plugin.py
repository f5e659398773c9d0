"""The Claude Code plugin: every kind of event, synchronously, from a folder of any name, without a trace."""

import json
import subprocess
from pathlib import Path

import pytest

from agent_evo_dagster.capture.claude_settings import KINDS, TIMEOUT

ROOT = Path(__file__).parents[2]
HOOKS = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
COMMAND: str = HOOKS["Stop"][0]["hooks"][0]["command"]


def run(command: str, data: bytes, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **environment}
    return subprocess.run(
        ["/bin/sh", "-c", command], check=False, input=data, cwd=cwd, env=environment, capture_output=True
    )


def test_every_kind_is_captured_and_none_asynchronously() -> None:
    assert tuple(HOOKS) == KINDS
    for groups in HOOKS.values():
        # nothing but these keys: `async` hooks lose what comes as the client ends
        assert groups == [{"hooks": [{"type": "command", "command": COMMAND, "timeout": TIMEOUT}]}]


def test_the_manifests_name_one_plugin_at_the_project_s_version() -> None:
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [(plugin["name"], "./")]
    assert f'version = "{plugin["version"]}"' in (ROOT / "pyproject.toml").read_text()


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    root = tmp_path / "plug in's"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "capture.py").write_bytes((ROOT / "hooks" / "capture.py").read_bytes())
    return root


def test_an_event_is_captured_whatever_folder_the_client_is_in(plugin: Path, tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "pro ject", tmp_path / "else where"
    project.mkdir()
    elsewhere.mkdir()
    done = run(
        COMMAND,
        b'{"session_id":"s","hook_event_name":"Stop"}',
        elsewhere,
        CLAUDE_PLUGIN_ROOT=str(plugin),
        CLAUDE_PROJECT_DIR=str(project),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    record = json.loads((project / ".agent_evo" / "spool" / "hooks" / "s.jsonl").read_bytes())
    assert record["hook"] == {"session_id": "s", "hook_event_name": "Stop"}
    assert not list(elsewhere.iterdir())


def test_a_plugin_whose_script_is_gone_does_not_block_the_agent(plugin: Path, tmp_path: Path) -> None:
    (plugin / "hooks" / "capture.py").unlink()
    done = run(COMMAND, b"{}", tmp_path, CLAUDE_PLUGIN_ROOT=str(plugin))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_machine_without_python_does_not_block_the_agent(plugin: Path, tmp_path: Path) -> None:
    command = COMMAND.replace("/usr/", "/no-such/").replace("/opt/", "/no-such/")
    done = run(command, b"{}", tmp_path, CLAUDE_PLUGIN_ROOT=str(plugin), PATH="/no-such")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
