"""A place for the client is new each time, and gone afterwards, also where its process was killed."""

import os
from pathlib import Path

import pytest

from agent_evo_dagster.analysts.client_environment import login_alone
from agent_evo_dagster.operators.workspace import workspace

WEEKS = 30 * 24 * 3600


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def aged(path: Path) -> Path:
    then = path.lstat().st_mtime - WEEKS
    os.utime(path, (then, then), follow_symlinks=False)
    return path


def test_what_a_killed_process_left_long_ago_is_cleared_and_nothing_else(temporary, tmp_path):
    (tmp_path / "mine").mkdir()
    left, running, other = (temporary / name for name in ("agent-evo-work-a", "agent-evo-work-b", "others"))
    for folder in (left, running, other):
        (folder / "work").mkdir(parents=True)
    (temporary / "agent-evo-work-link").symlink_to(tmp_path / "mine")
    for folder in (left, other, temporary / "agent-evo-work-link"):
        aged(folder)
    with workspace([]) as place:
        assert place.folder.is_dir() and not left.exists()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "agent-evo-work-b", "agent-evo-work-link", "others",
    ]  # fmt: skip
    assert (tmp_path / "mine").is_dir()


def test_places_of_both_sides_tell_nothing_apart(temporary):
    with workspace([]) as first, workspace([]) as second:
        names = [place.root.name.removeprefix("agent-evo-work-") for place in (first, second)]
        assert first.root != second.root and {len(name) for name in names} == {8}


def test_keys_of_a_cloud_go_along_only_where_it_is_the_login():
    keys = {"AWS_ACCESS_KEY_ID": "a", "GOOGLE_CLOUD_PROJECT": "g", "GITHUB_TOKEN": "t", "PATH": "/bin"}
    assert login_alone(keys) == {"PATH": "/bin"}
    bedrock = {**keys, "CLAUDE_CODE_USE_BEDROCK": "1"}
    assert login_alone(bedrock).keys() == {"PATH", "CLAUDE_CODE_USE_BEDROCK", "AWS_ACCESS_KEY_ID"}
    assert "AWS_ACCESS_KEY_ID" not in login_alone({**keys, "CLAUDE_CODE_USE_BEDROCK": ""})
