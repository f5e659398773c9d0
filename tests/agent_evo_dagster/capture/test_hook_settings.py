"""Installation of the hook: merged in, at work from anywhere, and gone without a trace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_evo_dagster.capture.claude_settings import KINDS
from agent_evo_dagster.capture.hook_settings import (
    Place,
    command_of,
    install,
    script_source,
    spool_of,
    status,
    uninstall,
)
from agent_evo_dagster.errors import CaptureError

PYTHON = Path(sys.executable).resolve()
FOREIGN = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "bell"}]}],
    },
    "permissions": {"allow": ["Read(**)"], "deny": []},
}
TEXTS = {
    "two spaces": json.dumps(FOREIGN, indent=2) + "\n",
    "tabs, no last break": json.dumps(FOREIGN, indent="\t"),
    "one line": json.dumps(FOREIGN),
    "odd layout": '{ "model":"é",\n\n      "hooks" : { } }\n\n',
    "empty object": "{}",
    "empty list of hooks": '{"hooks": {"Stop": []}}\n',
    "empty file": "",
}


def place_at(folder: Path, text: str | None = None) -> Place:
    place = Place(folder / ".claude")
    if text is not None:
        place.claude.mkdir(parents=True, exist_ok=True)
        (place.claude / "settings.json").write_text(text)
    return place


def put_in(place: Place, spool: Path | None = None) -> bool:
    return install(place, script=script_source(), interpreter=PYTHON, spool=spool)


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("text", [None, *TEXTS.values()], ids=["none", *TEXTS])
def test_taking_it_out_gives_back_the_same_bytes(tmp_path: Path, text: str | None) -> None:
    place = place_at(tmp_path, text)
    before = tree(tmp_path)
    assert put_in(place)
    assert status(place).missing == ()
    assert uninstall(place)
    assert tree(tmp_path) == before
    assert not uninstall(place)


def test_what_was_there_stays_in_its_order_and_comes_first(tmp_path: Path) -> None:
    place = place_at(tmp_path, TEXTS["two spaces"])
    put_in(place)
    settings = json.loads(place.settings.read_text())
    assert list(settings) == ["model", "hooks", "permissions"]
    assert list(settings["hooks"])[:2] == ["PreToolUse", "Notification"]
    assert settings["hooks"]["PreToolUse"][0] == FOREIGN["hooks"]["PreToolUse"][0]  # type: ignore[index]
    assert set(settings["hooks"]) == {*KINDS, "Notification"}
    assert all(len(groups) == 1 for kind, groups in settings["hooks"].items() if kind != "PreToolUse")


def test_installing_again_changes_nothing(tmp_path: Path) -> None:
    place = place_at(tmp_path, TEXTS["tabs, no last break"])
    put_in(place)
    before = tree(tmp_path)
    assert not put_in(place)
    assert tree(tmp_path) == before


def test_installing_otherwise_replaces_the_hook_and_still_comes_out_clean(tmp_path: Path) -> None:
    place = place_at(tmp_path, TEXTS["two spaces"])
    before = tree(tmp_path)
    put_in(place)
    assert put_in(place, tmp_path / "my spool")
    command = status(place).command
    assert command and spool_of(command) == tmp_path / "my spool"
    assert place.settings.read_text().count("--spool") == len(KINDS)
    uninstall(place)
    assert tree(tmp_path) == before


def test_what_others_changed_meanwhile_stays(tmp_path: Path) -> None:
    place = place_at(tmp_path, TEXTS["two spaces"])
    put_in(place)
    settings = json.loads(place.settings.read_text())
    settings["model"] = "sonnet"
    settings["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    place.settings.write_text(json.dumps(settings))
    uninstall(place)
    rest = json.loads(place.settings.read_text())
    assert rest["model"] == "sonnet"
    assert rest["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert set(rest["hooks"]) == {"PreToolUse", "Notification", "Stop"}


def test_a_deleted_hook_folder_does_not_stop_the_removal(tmp_path: Path) -> None:
    place = place_at(tmp_path, TEXTS["two spaces"])
    put_in(place)
    for path in place.folder.iterdir():
        path.unlink()
    assert status(place).problems == (f"the script {place.script} is gone",)
    uninstall(place)
    assert json.loads(place.settings.read_text()) == FOREIGN


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": 1, "a": 2}', "\x00"]
)
def test_settings_that_cannot_be_understood_are_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    place = place_at(tmp_path, text)
    before = tree(tmp_path)
    for action in (lambda: put_in(place), lambda: uninstall(place), lambda: status(place)):
        with pytest.raises(CaptureError, match="Nothing was changed"):
            action()
    assert tree(tmp_path) == before


def test_permissions_and_links_of_the_settings_file_are_kept(tmp_path: Path) -> None:
    place = place_at(tmp_path / "project")
    place.claude.mkdir(parents=True)
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    (place.claude / "settings.json").symlink_to(real)
    put_in(place)
    assert (place.claude / "settings.json").is_symlink() and real.stat().st_mode & 0o777 == 0o600
    uninstall(place)
    assert real.read_text() == "{}" and real.stat().st_mode & 0o777 == 0o600


def run(command: str, data: bytes, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", command], check=False, input=data, cwd=cwd, env=environment, capture_output=True
    )


@pytest.mark.parametrize("name", ["plain", "with space", "it's", "$HOME `x`"])
def test_the_installed_command_captures_from_any_folder(tmp_path: Path, name: str) -> None:
    project = tmp_path / name
    place = place_at(project)
    put_in(place)
    command = status(place).command
    (tmp_path / "elsewhere").mkdir()
    assert command
    done = run(command, b'{"session_id":"s"}', tmp_path / "elsewhere", CLAUDE_PROJECT_DIR=str(project))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (project / ".agent_evo" / "spool" / "hooks" / "s.jsonl").exists()


@pytest.mark.parametrize("gone", ["script", "interpreter"])
def test_a_hook_whose_files_are_gone_does_not_block_the_agent(tmp_path: Path, gone: str) -> None:
    place = place_at(tmp_path)
    interpreter = tmp_path / "python"
    interpreter.symlink_to(PYTHON)
    install(place, script=script_source(), interpreter=interpreter, spool=None)
    (place.script if gone == "script" else interpreter).unlink()
    found = status(place)
    assert found.command and len(found.problems) == 1 and gone in found.problems[0]
    done = run(found.command, b"{}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_command_that_was_changed_by_hand_is_a_problem(tmp_path: Path) -> None:
    place = place_at(tmp_path)
    put_in(place)
    text = place.settings.read_text().replace("-I -S", "")
    place.settings.write_text(text)
    assert "changed by hand" in status(place).problems[0]


def test_a_kind_that_is_missing_is_told(tmp_path: Path) -> None:
    place = place_at(tmp_path)
    put_in(place)
    settings = json.loads(place.settings.read_text())
    del settings["hooks"]["PostToolUseFailure"]
    place.settings.write_text(json.dumps(settings))
    assert status(place).missing == ("PostToolUseFailure",)


def test_the_command_names_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = command_of(PYTHON, Path("x.py"), Path("spool"))
    assert str(tmp_path / "x.py") in command and spool_of(command) == tmp_path / "spool"
