"""Import: recordings of both formats, at any depth, again and again."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.errors import CaptureError
from tests.agent_evo_dagster.capture.spools import Spool, legacy, record


def put(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_both_formats_are_found_at_any_depth(tmp_path: Path, spool: Spool) -> None:
    put(tmp_path / "in" / "rec" / "main.jsonl", record(1), record(2))
    put(tmp_path / "in" / "traj_opt" / "output" / "rllm" / "raw" / "old" / "events.jsonl", legacy())
    put(tmp_path / "in" / "labels.jsonl", b'{"label": "harmless"}')
    report = import_sessions(tmp_path / "in", spool.path)
    assert (report.files, report.sessions, report.added_lines) == (2, {"s-1", "old"}, 3)
    assert [Path(path).name for path, _ in report.skipped] == ["labels.jsonl"]
    assert set(spool.read().events["session_id"]) == {"s-1", "old"}


def test_one_file_can_be_named(tmp_path: Path, spool: Spool) -> None:
    assert import_sessions(put(tmp_path / "main.jsonl", record()), spool.path).added_lines == 1


def test_lines_and_legacy_files_are_kept_byte_for_byte(tmp_path: Path, spool: Spool) -> None:
    source = put(tmp_path / "in" / "old" / "events.jsonl", legacy(), b"broken \xff", legacy(1))
    os.utime(source, (1000, 1000))
    put(tmp_path / "in" / "a.jsonl", b" " + record(1) + b" ", b"[1]", record(2))
    import_sessions(tmp_path / "in", spool.path)
    copy = spool.path / "legacy" / "old" / "events.jsonl"
    assert copy.read_bytes() == source.read_bytes()
    assert (copy.stat().st_mtime, copy.stat().st_mode & 0o777) == (1000, 0o600)
    assert (spool.path / "hooks" / "s-1.jsonl").read_bytes() == (tmp_path / "in" / "a.jsonl").read_bytes()


def test_importing_again_adds_nothing_and_a_grown_folder_what_is_new(tmp_path: Path, spool: Spool) -> None:
    folder = tmp_path / "in"
    put(folder / "a.jsonl", record(1), b"broken")
    put(folder / "old" / "events.jsonl", legacy(1))
    assert import_sessions(folder, spool.path).added_lines == 3
    again = import_sessions(folder, spool.path)
    assert (again.added_lines, again.known_lines) == (0, 3)
    put(folder / "a.jsonl", record(1), b"broken", record(2))
    put(folder / "old" / "events.jsonl", legacy(1), legacy(2))
    assert import_sessions(folder, spool.path).added_lines == 2
    result = spool.read()
    assert (result.events.height, result.quarantine.height) == (4, 1)


def test_a_session_recorded_in_two_files_is_put_in_order(tmp_path: Path, spool: Spool) -> None:
    put(tmp_path / "in" / "a-later.jsonl", record(3), record(4))
    put(tmp_path / "in" / "b-earlier.jsonl", record(1), record(2))
    import_sessions(tmp_path / "in", spool.path)
    assert spool.read().events["tool_use_id"].to_list() == ["t1", "t2", "t3", "t4"]


def test_sessions_recorded_in_one_file_are_told_apart(tmp_path: Path, spool: Spool) -> None:
    lines = [record(1), record(2, session_id="../up"), b"null", record(3, session_id=None), record(4)]
    put(tmp_path / "in" / "a.jsonl", *lines)
    assert len(import_sessions(tmp_path / "in", spool.path).sessions) == 3
    assert all(path.resolve().is_relative_to(spool.path) for path in spool.path.rglob("*"))
    result = spool.read()
    assert result.lines == 5 and "../up" in result.events["session_id"].to_list()


def test_an_import_joins_what_was_captured_live(tmp_path: Path, spool: Spool) -> None:
    spool.write(record(1) + b"\n" + record(2)[:30])
    put(tmp_path / "in" / "a.jsonl", record(1), record(2))
    assert import_sessions(tmp_path / "in", spool.path).added_lines == 1
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t1", "t2"] and result.quarantine.height == 1


def test_two_different_legacy_files_of_one_session_are_not_mixed(tmp_path: Path, spool: Spool) -> None:
    put(tmp_path / "one" / "old" / "events.jsonl", legacy(1))
    put(tmp_path / "two" / "old" / "events.jsonl", legacy(2))
    import_sessions(tmp_path / "one", spool.path)
    report = import_sessions(tmp_path / "two", spool.path)
    assert "differs from" in report.skipped[0][1] and report.added_lines == 0
    assert spool.read().events.height == 1


def test_links_are_not_followed(tmp_path: Path, spool: Spool) -> None:
    put(tmp_path / "outside.jsonl", record(1))
    put(tmp_path / "in" / "a.jsonl", record(2))
    (tmp_path / "in" / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    import_sessions(tmp_path / "in", spool.path)
    assert spool.read().events["tool_use_id"].to_list() == ["t2"]


@pytest.mark.parametrize("content", [None, b"", b'{"a": 1}\n', b"\xff\n"])
def test_nothing_to_import_is_an_error_that_says_what_is_looked_for(
    tmp_path: Path, spool: Spool, content: bytes | None
) -> None:
    if content is not None:
        put(tmp_path / "in" / "x.jsonl").write_bytes(content)
    with pytest.raises(CaptureError, match=r"There is nothing at|holds no session that can be imported"):
        import_sessions(tmp_path / "in", spool.path)
    assert not spool.path.exists()


def test_the_real_recordings_keep_every_line(spool: Spool, shared: Callable[[str], Path]) -> None:
    folder = shared("claude_code/hooks")
    report = import_sessions(folder, spool.path)
    assert (report.files, report.added_lines, report.skipped) == (10, 161, [])
    stored = sorted(line for path in spool.path.rglob("*.jsonl") for line in path.read_bytes().splitlines())
    assert stored == sorted(
        line for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()
    )
    assert all(json.loads(line) for line in stored)
