"""Slices: finished sessions, each byte once, never half a line."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_evo_dagster.capture import slices
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.slices import Look, available_slices, look
from agent_evo_dagster.capture.types import FileSlice
from tests.agent_evo_dagster.capture.spools import KEY, T0, Spool, legacy, record

QUIET = timedelta(minutes=30)
NOW = datetime.fromtimestamp(T0 / 1e9, UTC) + timedelta(minutes=5)
LATER = NOW + timedelta(hours=1)
FILE = "hooks/s-1.jsonl"


def line(n: int, kind: str = "PostToolUse", **fields: object) -> bytes:
    return record(n, hook_event_name=kind, **fields) + b"\n"


def take(
    spool: Spool, taken: Sequence[FileSlice] = (), *, now: datetime = NOW, include_open: bool = False
) -> list[FileSlice]:
    return available_slices(spool.path, taken, now=now, quiet=QUIET, include_open=include_open)


def look_at(spool: Spool) -> Look:
    return look(spool.path, [], now=NOW, quiet=QUIET, include_open=False)


def touch(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def test_an_empty_or_missing_spool_has_nothing(spool: Spool) -> None:
    assert take(spool) == []
    spool.write(b"")
    spool.write(b"\n\n", "hooks/blank.jsonl")
    assert take(spool, now=LATER, include_open=True) == []


def test_an_ended_session_is_taken_and_an_open_one_waits(spool: Spool) -> None:
    ended = spool.write(line(1) + line(2, "SessionEnd"))
    touch(spool.write(line(1), "hooks/s-2.jsonl"), NOW)
    (part,) = take(spool)
    assert (part.file, part.start, part.end) == (FILE, 0, ended.stat().st_size)
    assert part.sessions == ("s-1",)


def test_an_open_session_is_taken_when_it_was_quiet_or_on_demand(spool: Spool) -> None:
    path = spool.write(line(1))
    touch(path, NOW)
    assert take(spool) == []
    assert len(take(spool, include_open=True)) == 1
    assert len(take(spool, now=LATER)) == 1


def test_a_resumed_session_is_open_again(spool: Spool) -> None:
    path = spool.write(line(1) + line(2, "SessionEnd") + line(3, "SessionStart") + line(4))
    touch(path, NOW)
    assert take(spool) == []


def test_what_comes_in_after_the_end_does_not_reopen_a_session(spool: Spool) -> None:
    spool.write(line(1) + line(2, "SessionEnd") + line(3, "SubagentStop"))
    assert len(take(spool)) == 1


def test_every_session_of_a_file_must_have_ended(spool: Spool) -> None:
    path = spool.write(line(1) + line(2, session_id="other") + line(3, "SessionEnd"))
    touch(path, NOW)
    assert take(spool) == []
    spool.write(line(4, "SessionEnd", session_id="other"))
    assert take(spool)[0].sessions == ("other", "s-1")


def test_what_was_taken_is_not_taken_again_and_what_is_new_is(spool: Spool) -> None:
    spool.write(line(1) + line(2, "SessionEnd"))
    first = take(spool)
    assert take(spool, first, now=LATER) == []
    spool.write(line(3, "SessionStart") + line(4, "SessionEnd"))
    (second,) = take(spool, first)
    assert second.start == first[0].end
    assert take(spool, [*first, second], now=LATER) == []
    events = read_slices(spool.path, [*first, second], key=KEY).events
    assert events["tool_use_id"].to_list() == ["t1", "t2", "t3", "t4"]


def test_a_slice_names_the_same_bytes_after_the_file_has_grown(spool: Spool) -> None:
    spool.write(line(1) + line(2, "SessionEnd"))
    parts = take(spool)
    before = read_slices(spool.path, parts, key=KEY)
    spool.write(line(3))
    assert read_slices(spool.path, parts, key=KEY).events.equals(before.events)


@pytest.mark.parametrize("include_open", [True, False])
def test_a_last_line_in_the_making_is_not_taken(spool: Spool, include_open: bool) -> None:
    whole = line(1) + line(2, "SessionEnd")
    path = spool.write(whole + line(3)[:40])
    touch(path, NOW)
    (part,) = take(spool, include_open=include_open)
    assert part.end == len(whole)


def test_a_line_in_the_making_is_not_taken_even_after_a_long_pause(spool: Spool) -> None:
    whole = line(1)
    path = spool.write(whole + line(3)[:40])
    touch(path, LATER)
    (part,) = take(spool, now=LATER)
    assert part.end == len(whole)


def test_a_torn_tail_of_a_quiet_file_is_taken_and_the_next_record_comes_whole(spool: Spool) -> None:
    torn = line(2)[:40]
    touch(spool.write(line(1) + torn), NOW)
    first = take(spool, now=LATER)
    spool.write(b"\n" + line(3, "SessionEnd"))
    second = take(spool, first)
    results = [read_slices(spool.path, parts, key=KEY) for parts in (first, second)]
    assert [result.events["tool_use_id"].to_list() for result in results] == [["t1"], ["t3"]]
    assert results[0].quarantine["length"].to_list() == [len(torn)]


def test_a_copied_file_is_as_old_as_its_records(spool: Spool) -> None:
    spool.write(legacy(), "legacy/old/events.jsonl")
    moment = datetime(2026, 5, 1, 1, tzinfo=UTC)
    assert len(take(spool, now=moment)) == 1
    assert take(spool, now=moment - timedelta(minutes=45)) == []


def test_a_clock_that_ran_ahead_does_not_keep_a_file_back(spool: Spool) -> None:
    touch(spool.write(record(at=T0 + 10**18) + b"\n"), NOW)
    assert len(take(spool, now=LATER)) == 1


def test_a_file_that_shrank_is_another_file(spool: Spool) -> None:
    path = spool.write(line(1) + line(2, "SessionEnd"))
    first = take(spool)
    path.write_bytes(line(7, "SessionEnd"))
    (part,) = take(spool, first)
    assert (part.start, part.end) == (0, path.stat().st_size)


def test_a_file_that_shrank_is_taken_once(spool: Spool) -> None:
    path = spool.write(line(1) + line(2, "SessionEnd"))
    first = take(spool)
    path.write_bytes(line(7, "SessionEnd"))
    assert take(spool, [*first, *take(spool, first)]) == []


def test_a_file_that_was_rotated_is_taken_from_its_start_once(spool: Spool) -> None:
    path = spool.write(line(1, "SessionEnd"))
    first = take(spool)
    path.write_bytes(line(7) + line(8) + line(9, "SessionEnd"))  # longer than the one before it
    second = take(spool, first)
    assert [(part.start, part.end) for part in second] == [(0, path.stat().st_size)]
    assert take(spool, [*first, *second]) == []


def of_length(n: int, length: int, kind: str = "SessionEnd") -> bytes:
    return line(n, kind, padding="x" * (length - len(line(n, kind, padding=""))))


@pytest.mark.parametrize("with_index", [True, False])
def test_a_file_that_was_truncated_and_grew_again_is_taken_once_from_its_new_start(
    spool: Spool, tmp_path: Path, with_index: bool
) -> None:
    index = tmp_path / "index.json" if with_index else None
    taken: list[FileSlice] = []

    def open_next() -> list[tuple[int, int]]:
        new = available_slices(spool.path, taken, now=NOW, quiet=QUIET, include_open=False, index=index)
        taken.extend(new)
        return [(part.start, part.end) for part in new]

    path = spool.write(of_length(1, 732))
    assert open_next() == [(0, 732)]
    path.write_bytes(of_length(2, 237))
    assert open_next() == [(0, 237)]
    assert open_next() == [] and open_next() == []
    spool.write(of_length(3, 832))
    assert open_next() == [(237, 1069)]
    assert open_next() == []
    assert read_slices(spool.path, taken[1:], key=KEY).quarantine.is_empty()


@pytest.mark.parametrize("with_index", [True, False])
def test_a_file_that_was_replaced_by_one_of_its_size_is_taken_once(
    spool: Spool, tmp_path: Path, with_index: bool
) -> None:
    index = tmp_path / "index.json" if with_index else None
    taken: list[FileSlice] = []
    path = spool.write(of_length(1, 400))
    for content, expected in [(1, 1), (1, 0), (1, 0), (2, 1), (2, 0), (2, 0)]:
        if path.read_bytes() != of_length(content, 400):
            path.write_bytes(of_length(content, 400))
            touch(path, NOW + timedelta(seconds=1))
        new = available_slices(spool.path, taken, now=NOW, quiet=QUIET, include_open=False, index=index)
        assert len(new) == expected
        taken += new
    forgotten = available_slices(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index)
    assert forgotten == taken[1:]


def test_a_file_whose_name_holds_a_secret_is_left_and_named_without_it(spool: Spool) -> None:
    secret = "ghp_" + "aB3d" * 9
    spool.write(line(1, "SessionEnd"), f"hooks/{secret}.jsonl")
    spool.write(line(1, "SessionEnd"))
    found = look_at(spool)
    assert [part.file for part in found.slices] == [FILE]
    ((name, why),) = found.unreadable.items()
    assert secret not in name and "holds a secret" in why


def test_a_file_whose_name_is_no_text_is_left_and_named(spool: Spool) -> None:
    spool.write(line(1, "SessionEnd"))
    (spool.path / "hooks" / os.fsdecode(b"\xff.jsonl")).write_bytes(line(1, "SessionEnd"))
    spool.write(line(1, "SessionEnd"), "hooks/日本.jsonl")
    found = look_at(spool)
    assert [part.file for part in found.slices] == [FILE, "hooks/日本.jsonl"]
    assert list(found.unreadable.values()) == ["its name is not UTF-8: give the file another"]


def test_a_file_that_cannot_be_read_keeps_no_other_back(spool: Spool) -> None:
    spool.write(line(1, "SessionEnd"))
    (spool.path / "hooks/folder.jsonl").mkdir()
    (spool.path / "hooks/dangling.jsonl").symlink_to(spool.path / "nowhere")
    os.mkfifo(spool.path / "hooks/pipe.jsonl")
    found = look_at(spool)
    assert [part.file for part in found.slices] == [FILE]
    assert found.unreadable == {
        "hooks/dangling.jsonl": "No such file or directory",
        "hooks/folder.jsonl": "Is a directory",
        "hooks/pipe.jsonl": "Is no regular file",
    }


def test_a_file_that_could_be_read_once_and_cannot_now_is_not_taken(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.write(line(1, "SessionEnd"))
    index = tmp_path / "index.json"
    assert look(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index).slices
    monkeypatch.setattr("os.access", lambda *_: False)  # tests may run as root, who may read everything
    found = look(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index)
    assert (found.slices, found.unreadable) == ([], {FILE: "Permission denied"})


def test_broken_lines_do_not_keep_a_file_back(spool: Spool) -> None:
    touch(spool.write(b"null\n[]\nnot json\n"), NOW)
    (part,) = take(spool, now=LATER)
    assert read_slices(spool.path, [part], key=KEY).quarantine.height == 3


def test_only_event_files_are_read(spool: Spool) -> None:
    for name in ("hooks/_lost", "hooks/.gitignore", "notes.jsonl", "legacy/old/other.jsonl"):
        spool.write(line(1), name)
    assert take(spool, now=LATER, include_open=True) == []


def test_the_order_is_that_of_the_names(spool: Spool) -> None:
    for name in ("b", "a", "_fallback"):
        spool.write(line(1, "SessionEnd"), f"hooks/{name}.jsonl")
    spool.write(legacy(), "legacy/a/events.jsonl")
    names = [part.file for part in take(spool, now=datetime.now(UTC) + timedelta(days=9999))]
    assert names == ["hooks/_fallback.jsonl", "hooks/a.jsonl", "hooks/b.jsonl", "legacy/a/events.jsonl"]


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    scanned = slices._scanned

    def spy(path: Path, *args: Any, **kwargs: Any) -> Any:
        read.append(path.name)
        return scanned(path, *args, **kwargs)

    monkeypatch.setattr(slices, "_scanned", spy)
    for name in ("a", "b"):
        touch(spool.write(line(1) + line(2, "SessionEnd"), f"hooks/{name}.jsonl"), NOW)
    index = tmp_path / "index.json"
    first = available_slices(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index)
    assert read == ["a.jsonl", "b.jsonl"]
    spool.write(line(3, "SessionStart") + line(4, "SessionEnd"), "hooks/b.jsonl")
    again = available_slices(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index)
    assert read == ["a.jsonl", "b.jsonl", "b.jsonl"]
    assert again == take(spool) and again[0] == first[0] and again[1].end > first[1].end


@pytest.mark.parametrize("damage", [b"", b"{", b'{"hooks/s-1.jsonl":[1]}', b"[]"])
def test_a_damaged_index_is_made_again(spool: Spool, tmp_path: Path, damage: bytes) -> None:
    spool.write(line(1) + line(2, "SessionEnd"))
    index = tmp_path / "index.json"
    index.write_bytes(damage)
    found = available_slices(spool.path, [], now=NOW, quiet=QUIET, include_open=False, index=index)
    assert found == take(spool) and index.read_bytes() != damage


def test_a_line_in_the_making_is_looked_at_again(spool: Spool, tmp_path: Path) -> None:
    index, whole = tmp_path / "index.json", line(1) + line(2, "SessionEnd")
    touch(spool.write(whole + line(3)[:40]), NOW)
    for now in (NOW, LATER):
        (part,) = available_slices(spool.path, [], now=now, quiet=QUIET, include_open=False, index=index)
        assert part.end == len(whole) + (40 if now == LATER else 0)


def test_of_what_writers_write_meanwhile_every_record_is_taken_once(spool: Spool, tmp_path: Path) -> None:
    files, each = 4, 150
    names = [f"hooks/s-{number}.jsonl" for number in range(files)]

    def write(name: str) -> None:
        for n in range(each):
            data = line(n, "SessionEnd", session_id=name, padding="x" * (n % 7) * 900)
            spool.write(data[:40], name)  # in two parts, as no hook of ours does
            spool.write(data[40:], name)

    taken: list[FileSlice] = []
    with ThreadPoolExecutor(files) as pool:
        writing = [pool.submit(write, name) for name in names]
        while True:
            done = all(future.done() for future in writing)
            taken += available_slices(
                spool.path, taken, now=NOW, quiet=QUIET, include_open=True, index=tmp_path / "index.json"
            )
            if done:
                break
    assert [future.exception() for future in writing] == [None] * files
    result = read_slices(spool.path, taken, key=KEY)
    assert result.quarantine.is_empty()
    found = result.events.select("session_id", "tool_use_id").rows()
    assert sorted(found) == sorted((name, f"t{n}") for name in names for n in range(each))
