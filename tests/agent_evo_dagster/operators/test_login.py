"""A lent login: a newer one of its user goes back, and nothing else that is left in its place does."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.operators.login import lent, renews

YEAR = 365 * 24 * 3600 * 1000  # milliseconds
OAUTH = {
    "accessToken": "a",
    "refreshToken": "r",
    "expiresAt": int(time.time() * 1000),
    "scopes": ["user:inference"],
}


def login(**changed: object) -> bytes:
    return json.dumps({"claudeAiOauth": {**OAUTH, **changed}}).encode()


OLD, NEWER = login(), login(accessToken="b", expiresAt=OAUTH["expiresAt"] + 1)
NEVER_THEIRS = {
    "empty": b"",
    "torn": NEWER[:-9],
    "no text": b"\xff\xfe",
    "no object": b"[1]",
    "an empty object": b"{}",
    "older": login(accessToken="b", expiresAt=OAUTH["expiresAt"] - 1),
    "as old": login(accessToken="b"),
    "without its end": json.dumps({"claudeAiOauth": {"accessToken": "b"}}).encode(),
    "without a token": login(accessToken="", expiresAt=OAUTH["expiresAt"] + 1),
    "a token of another kind": login(accessToken=7, expiresAt=OAUTH["expiresAt"] + 1),
    "an end beyond all": login(accessToken="b", expiresAt=10**18),
    "an end that no renewal could be later than": login(
        accessToken="b", expiresAt=OAUTH["expiresAt"] + 3 * YEAR
    ),
    "no number of an end": login(accessToken="b", expiresAt=float("nan")),
    "an end in words": json.dumps(
        {"claudeAiOauth": {**OAUTH, "expiresAt": "soon"}, "more": {"expiresAt": OAUTH["expiresAt"] + 1}}
    ).encode(),
    "an end of something new alone": json.dumps(
        {"claudeAiOauth": OAUTH, "more": {"expiresAt": OAUTH["expiresAt"] + 1}}
    ).encode(),
    "an end of something new beyond all": json.dumps(
        {"claudeAiOauth": {**OAUTH, "expiresAt": OAUTH["expiresAt"] + 1}, "more": {"expiresAt": 10**18}}
    ).encode(),
    "rights as a word": login(scopes="x", expiresAt=OAUTH["expiresAt"] + 1),
    "rights as a mapping": login(scopes={"a": 1}, expiresAt=OAUTH["expiresAt"] + 1),
    "rights of another kind": login(scopes=[7], expiresAt=OAUTH["expiresAt"] + 1),
    "a blank token": login(accessToken="  ", expiresAt=OAUTH["expiresAt"] + 1),
    "another service's": json.dumps({"apiKey": "k", "expiresAt": OAUTH["expiresAt"] + 1}).encode(),
    "deep": b"[" * 60_000,
    "long": login(accessToken="b" * 70_000, expiresAt=OAUTH["expiresAt"] + 1),
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "theirs"))
    (tmp_path / "theirs").mkdir()
    path = tmp_path / "theirs" / ".credentials.json"
    path.write_bytes(OLD)
    return path


def borrowed(folder: Path, left: bytes | None) -> None:
    folder.mkdir()
    with lent(folder):
        here = folder / ".credentials.json"
        assert here.read_bytes() == OLD
        if left is not None:
            here.unlink()
            here.write_bytes(left)


def test_a_newer_login_is_its_users(own, tmp_path):
    borrowed(tmp_path / "run", NEWER)
    assert own.read_bytes() == NEWER and own.stat().st_mode & 0o777 == 0o600


def test_one_that_was_not_touched_stays(own, tmp_path):
    borrowed(tmp_path / "run", None)
    assert own.read_bytes() == OLD


@pytest.mark.parametrize("left", NEVER_THEIRS.values(), ids=NEVER_THEIRS)
def test_what_is_no_newer_login_of_theirs_does_not_go_back(own, tmp_path, left):
    borrowed(tmp_path / "run", left)
    assert own.read_bytes() == OLD


def test_a_pipe_in_its_place_is_not_waited_for(own, tmp_path):
    with lent(tmp_path):
        (tmp_path / ".credentials.json").unlink()
        os.mkfifo(tmp_path / ".credentials.json")
    assert own.read_bytes() == OLD


def test_somebody_who_logged_out_meanwhile_stays_so(own, tmp_path):
    with lent(tmp_path):
        (tmp_path / ".credentials.json").unlink()
        (tmp_path / ".credentials.json").write_bytes(NEWER)
        own.unlink()
    assert not own.exists()


def test_of_runs_that_end_at_once_the_login_that_holds_longest_is_left(own, tmp_path):
    ends = [OAUTH["expiresAt"] + more for more in (5, 9, 3, 7)]

    def one(end: int) -> None:
        folder = tmp_path / str(end)
        folder.mkdir()
        with lent(folder):
            (folder / ".credentials.json").unlink()
            (folder / ".credentials.json").write_bytes(login(accessToken=str(end), expiresAt=end))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, ends))
    assert json.loads(own.read_bytes())["claudeAiOauth"]["accessToken"] == str(max(ends))


@given(st.integers(0, len(NEWER) - 1))
def test_no_beginning_of_a_login_is_one(end):
    assert not renews(OLD, NEWER[:end])


def both(service: int, other: int) -> bytes:
    """A login of the service and one of something else, by how much later than the usual they end."""
    return json.dumps(
        {
            "claudeAiOauth": {**OAUTH, "expiresAt": OAUTH["expiresAt"] + service},
            "mcpOAuth": {"accessToken": "q", "expiresAt": OAUTH["expiresAt"] + other},
        }
    ).encode()


@pytest.mark.parametrize(
    ("old", "new", "better"),
    [
        (both(0, -YEAR), both(1, -YEAR), True),  # what is long over and stays so stands in no renewal's way
        (both(0, YEAR), both(1, YEAR), True),
        (both(0, 0), both(2, -1), False),
        (both(0, 0), both(-1, 2), False),
        (both(0, 0), both(0, 0), False),
    ],
)
def test_each_part_of_a_login_ends_no_earlier_and_one_ends_later(old, new, better):
    assert renews(old, new) is better


def test_a_login_as_deep_as_it_is_long_is_looked_at():
    deep = json.loads(NEWER)
    for _ in range(400):
        deep = {"more": deep, **json.loads(NEWER)}
    assert renews(OLD, json.dumps(deep).encode())


def test_a_login_that_cannot_be_given_back_loses_no_run(own, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("agent_evo_dagster.operators.login.write_atomic", full)
    borrowed(tmp_path / "run", NEWER)
    assert own.read_bytes() == OLD
