"""`agent-evo hooks` and `agent-evo import`, as a person types them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_evo_dagster.capture.capturing import capturers
from agent_evo_dagster.cli.main import app
from agent_evo_dagster.errors import CaptureError

SAMPLES = Path(__file__).parents[3] / "samples"


def say(*words: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, CaptureError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nobody"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path / "home"


def test_hooks_are_installed_shown_and_removed(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    told = say("hooks", "status", "--project", project, code=1)
    assert "Not installed" in told and f"agent-evo hooks install --project {project}" in told
    output = say("hooks", "install", "--project", project)
    assert "Installed: 16 events" in output and str(home / "spool") in output.replace("\n", "")
    assert "Already installed" in say("hooks", "install", "--project", project)
    shown = say("hooks", "status", "--project", project)
    assert "16 of 16 events" in shown and "Lost: 0" in shown
    assert "Removed" in say("hooks", "uninstall", "--project", project)
    assert "Nothing to remove" in say("hooks", "uninstall", "--project", project)
    assert list(project.iterdir()) == []


def test_losses_are_shown(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    say("hooks", "install", "--project", project)
    hooks = home / "spool" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "_lost").write_text("..")
    (hooks / "_fallback.jsonl").write_text("\n{}\n\n{}\n\n{}\n")
    assert "Lost: 2; kept in the fallback file: 3" in say("hooks", "status", "--project", project)


def test_hooks_of_a_user_go_into_the_client_s_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    say("hooks", "install", "--user")
    assert (tmp_path / "config" / "settings.json").exists()
    say("hooks", "uninstall", "--user")
    assert not (tmp_path / "config").exists()


def enabled(folder: Path, name: str, value: bool, file: str = "settings.json") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(json.dumps({"enabledPlugins": {name: value}}))


def test_two_that_capture_one_project_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, project = tmp_path / "config", tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    enabled(config, "agent-evo@agent-evo", True)
    assert "plugin agent-evo@agent-evo" in say("hooks", "status", "--project", project)
    twice = "each event is captured 2 times, by the hook in"
    assert twice in say("hooks", "install", "--project", project)
    assert twice in say("hooks", "status", "--project", project)
    assert twice in say("hooks", "install", "--user")  # by it and the plugin
    assert "captured 3 times" in say("hooks", "status", "--project", project)


def test_a_plugin_that_the_project_switches_off_captures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, claude = tmp_path / "config", tmp_path / "project" / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    enabled(config, "agent-evo@here", True)
    enabled(claude, "agent-evo@here", False, "settings.local.json")
    assert capturers(config, claude) == []
    enabled(config, "another@agent-evo", True)
    assert capturers(config) == []


def test_a_project_that_is_none_and_two_places_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="is not a folder"):
        say("hooks", "install", "--project", tmp_path / "nowhere")
    with pytest.raises(CaptureError, match="Name one"):
        say("hooks", "install", "--project", tmp_path, "--user")


def test_the_samples_are_imported_once(home: Path) -> None:
    assert "6 sessions: 210 lines added" in say("import", SAMPLES).replace("\n", " ")
    assert "0 lines added" in say("import", SAMPLES)
    assert len(list((home / "spool" / "hooks").glob("*.jsonl"))) == 6
