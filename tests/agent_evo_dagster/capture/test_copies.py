"""Tests of transcripts brought into the spool, and of what a round takes of them."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from json import dumps as dump
from pathlib import Path

import pytest

from agent_evo_dagster.capture import copies
from agent_evo_dagster.capture.companions import document_slices, transcript_slices
from agent_evo_dagster.capture.copies import copy_transcripts, keep, uncopied
from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.slices import available_slices
from agent_evo_dagster.capture.types import FileSlice
from agent_evo_dagster.rounds.opening import RoundRequest, open_round
from agent_evo_dagster.rounds.store import to_slices
from agent_evo_dagster.settings import Settings
from tests.agent_evo_dagster.capture.spools import record
from tests.agent_evo_dagster.capture.transcripts import SESSION, gathered, prompt, put, said

NOW = datetime(2027, 1, 1, tzinfo=UTC)
COPY = f"transcripts/{SESSION}/{SESSION}.jsonl"


def _client(home: Path, *lines: bytes, session: str = SESSION) -> Path:
    """A transcript where the client keeps it."""
    path = home / "projects" / "-work" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def _hooks(spool: Path, transcript: object, *, ended: bool = True, session: str = SESSION) -> list[FileSlice]:
    """A captured session whose records name `transcript`."""
    fields = {"session_id": session, "transcript_path": str(transcript)}
    lines = [record(1, **fields)]
    lines += [record(2, hook_event_name="SessionEnd", **fields)] if ended else []
    put(spool, f"hooks/{session}.jsonl", b"\n".join(lines) + b"\n")
    return available_slices(spool, [], now=NOW, quiet=timedelta(), include_open=True)


def _told(spool: Path, captured: list[FileSlice], taken: list[FileSlice], quiet: int = 0) -> list[FileSlice]:
    return transcript_slices(spool, captured, taken, now=NOW, quiet=timedelta(days=quiet), include_open=False)


def test_the_transcript_that_a_record_names_is_copied_with_its_subagents(tmp_path: Path) -> None:
    path = _client(tmp_path, prompt("go"))
    put(path.with_suffix(""), "subagents/agent-a1.jsonl", prompt("sub", agentId="a1"))
    put(path.with_suffix(""), "subagents/notes.jsonl", b"{}\n")
    copied = copy_transcripts(tmp_path / "spool", _hooks(tmp_path / "spool", path))
    assert [one.target for one in copied] == [COPY, f"transcripts/{SESSION}/subagents/agent-a1.jsonl"]
    assert (tmp_path / "spool" / COPY).read_bytes() == path.read_bytes()
    assert (tmp_path / "spool" / COPY).stat().st_mode & 0o777 == 0o600


def test_the_type_that_the_client_notes_of_a_subagent_is_kept_and_read(tmp_path: Path) -> None:
    path, spool = _client(tmp_path, prompt("go")), tmp_path / "spool"
    put(path.with_suffix(""), "subagents/agent-a1.jsonl", prompt("sub", agentId="a1"))
    put(path.with_suffix(""), "subagents/agent-a1.meta.json", b'{"agentType": "Explore", "spawnDepth": 1}')
    captured = _hooks(spool, path)
    copy_transcripts(spool, captured)
    events = gathered(spool, _told(spool, captured, [])).events
    types = events.filter(kind="UserPromptSubmit", source="transcript")
    assert dict(types.select("agent_id", "agent_type").iter_rows()) == {None: None, "a1": "Explore"}
    # the client writes its note anew while the agent runs: what a round froze stays as it is
    frozen = sorted(spool.rglob("*.meta.jsonl"))[0].read_bytes()
    put(path.with_suffix(""), "subagents/agent-a1.meta.json", b'{"agentType": "Explore", "finished": true}')
    put(path.with_suffix(""), "subagents/agent-a1.jsonl", prompt("sub", agentId="a1") + prompt("more"))
    copy_transcripts(spool, captured)
    assert sorted(spool.rglob("*.meta.jsonl"))[0].read_bytes() == frozen


@pytest.mark.parametrize("note", [b"", b"[]", b'{"agentType": 5}', b'{"agentType": "a', b" " * (65 << 10)])
def test_a_note_that_tells_no_type_is_left(tmp_path: Path, note: bytes) -> None:
    source = tmp_path / "agent-a1.jsonl"
    source.write_bytes(prompt("sub", agentId="a1"))
    source.with_suffix(".meta.json").write_bytes(note)
    assert keep(source, tmp_path / "spool", "transcripts/s/subagents/agent-a1.jsonl").problem is None
    assert [path.name for path in (tmp_path / "spool").rglob("*.jsonl")] == ["agent-a1.jsonl"]


def test_a_note_behind_a_link_is_left(tmp_path: Path) -> None:
    source, secret = tmp_path / "agent-a1.jsonl", tmp_path / "secret"
    source.write_bytes(prompt("sub", agentId="a1"))
    secret.write_bytes(b'{"agentType": "told"}')
    source.with_suffix(".meta.json").symlink_to(secret)
    keep(source, tmp_path / "spool", "transcripts/s/subagents/agent-a1.jsonl")
    assert not list((tmp_path / "spool").rglob("*.meta.jsonl"))


def test_no_other_file_is_followed(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    secret = _client(tmp_path, b"secret\n", session="other")
    link = tmp_path / f"{SESSION}.jsonl"
    link.symlink_to(secret)
    for named in (secret, link, tmp_path / "gone" / link.name, f"{SESSION}.jsonl", tmp_path, 7, "a\0b"):
        assert copy_transcripts(spool, _hooks(spool, named)) == []
    dotted = tmp_path / "x" / ".." / "projects" / "-work" / f"{SESSION}.jsonl"
    _client(tmp_path, prompt("go"))
    assert copy_transcripts(spool, _hooks(spool, dotted)) == []


def test_files_whose_names_hold_a_secret_are_left(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3d" * 9
    put(tmp_path, f"transcripts/{secret}/{secret}.jsonl", prompt("go"))
    put(tmp_path, f"atif/run-1/{secret}.json", b"{}")
    put(tmp_path, COPY, prompt("go"))
    assert [part.file for part in _told(tmp_path, [], []) + document_slices(tmp_path, [])] == [COPY]


def test_a_copy_grows_with_its_transcript_and_never_turns_back(tmp_path: Path) -> None:
    path = _client(tmp_path, prompt("one"))
    assert keep(path, tmp_path, COPY).known == 0
    _client(tmp_path, prompt("one"), prompt("two"))
    grown = keep(path, tmp_path, COPY)
    assert (grown.added, grown.known) == (prompt("two"), 1)
    _client(tmp_path, prompt("another"))
    assert "differs from" in str(keep(path, tmp_path, COPY).problem)
    assert (tmp_path / COPY).read_bytes() == prompt("one") + prompt("two")


def test_a_transcript_beyond_the_bound_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_BYTES", 10)
    assert "at most 10" in str(keep(_client(tmp_path, prompt("one")), tmp_path, COPY).problem)
    assert not (tmp_path / COPY).exists()


def test_a_transcript_is_taken_with_its_session_and_from_where_the_last_round_ended(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    first = put(spool, COPY, prompt("one"))
    captured = _hooks(spool, "nowhere")
    taken = _told(spool, captured, [], quiet=9999)
    assert [(part.file, part.start, part.end) for part in taken] == [(COPY, 0, first.end)]
    assert taken[0].sessions == (SESSION,)
    put(spool, COPY, prompt("one") + prompt("two") + b'{"half')
    os.utime(spool / COPY, (NOW.timestamp() - 60, NOW.timestamp() - 60))
    assert _told(spool, [], [*captured, *taken], quiet=1) == []  # it may still be written
    for now_captured in (captured, []):  # with new records of its session, or late
        (later,) = _told(spool, now_captured, [*captured, *taken])
        assert (later.start, later.end) == (first.end, first.end + len(prompt("two")))


def test_a_transcript_of_old_events_is_quiet_however_new_its_file_is(tmp_path: Path) -> None:
    session = {"sessionId": SESSION, "type": "user"}
    old = dump({**session, "timestamp": "2026-12-18T09:00:00Z"}) + "\n"
    new = dump({**session, "timestamp": "2026-12-31T23:50:00Z"}) + "\n"
    untold = dump({**session, "timestamp": "soon"}) + "\n[]\n{\n"
    for text, taken in ((old + untold, True), (new + old, False), (untold, False)):
        note = f"transcripts/{SESSION}/subagents/agent-a1.meta.jsonl"  # tells no time
        for name, data in ((COPY, text), (note, '{"agentType": "Explore"}\n')):
            put(tmp_path, name, data.encode())
            os.utime(tmp_path / name, (NOW.timestamp() - 60, NOW.timestamp() - 60))  # imported a minute ago
        assert bool(_told(tmp_path, [], [], quiet=1)) is taken
        assert _told(tmp_path, [], [])


def test_a_late_transcript_waits_while_its_session_has_records_that_no_round_took(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    captured = _hooks(spool, "nowhere")
    put(spool, COPY, prompt("one"))
    assert len(_told(spool, [], captured)) == 1
    with (spool / captured[0].file).open("ab") as stream:
        stream.write(record(3, session_id=SESSION) + b"\n")
    assert _told(spool, [], captured) == []


def test_a_session_that_only_its_transcript_tells_is_taken_once_it_is_quiet(tmp_path: Path) -> None:
    put(tmp_path, COPY, prompt("one", timestamp="2026-12-31T00:00:00Z"))
    os.utime(tmp_path / COPY, (NOW.timestamp() - 86400, NOW.timestamp() - 86400))
    assert _told(tmp_path, [], [], quiet=2) == []
    assert len(_told(tmp_path, [], [], quiet=1)) == 1


def test_a_transcripts_folder_is_imported_and_again_adds_what_is_new(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    report = import_sessions(shared("claude_code") / "transcripts", tmp_path)
    assert (report.files, len(report.sessions), report.added_lines) == (8, 6, 382)
    copied = sorted(path.parent.name for path in tmp_path.rglob("agent-*.jsonl"))
    assert copied == ["subagents"] * 4  # two, and the type of each
    assert import_sessions(shared("claude_code") / "transcripts", tmp_path).added_lines == 0
    assert gathered(tmp_path, _told(tmp_path, [], [])).lines == 382 + 2


def test_hooks_and_transcripts_of_one_folder_are_imported_together(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    report = import_sessions(shared("claude_code"), tmp_path)
    assert (report.files, report.added_lines, report.skipped) == (18, 543, [])
    captured = available_slices(tmp_path, [], now=NOW, quiet=timedelta(), include_open=False)
    found = gathered(tmp_path, [*captured, *_told(tmp_path, captured, [])])
    assert found.coverage["calls_both"].sum() == 35
    assert found.coverage["calls_hook_only"].sum() == found.coverage["calls_transcript_only"].sum() == 0


def test_opening_a_round_freezes_the_transcripts_of_its_sessions(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    path = _client(tmp_path, prompt("go"), said({"type": "text", "text": "done"}))
    _hooks(settings.spool, path)
    template = Path(__file__).parents[3] / "skill_bank"
    manifest = open_round(settings, template, RoundRequest(), now=NOW)
    slices = to_slices(manifest.slices)
    assert [part.file for part in slices] == [f"hooks/{SESSION}.jsonl", COPY]
    before = gathered(settings.spool, slices)
    assert before.events.filter(source="transcript").height == 2
    put(settings.spool, COPY, (settings.spool / COPY).read_bytes() + prompt("more"))
    assert gathered(settings.spool, slices).events.equals(before.events)


def test_what_the_client_writes_after_its_session_was_taken_is_the_next_rounds(tmp_path: Path) -> None:
    settings, template = Settings(home=tmp_path / "home"), Path(__file__).parents[3] / "skill_bank"
    path = _client(tmp_path, prompt("go"))
    _hooks(settings.spool, path)
    open_round(settings, template, RoundRequest(), now=NOW)
    _client(tmp_path, prompt("go"), said({"type": "text", "text": "done"}))
    late = open_round(settings, template, RoundRequest(), now=datetime.now(UTC) + timedelta(days=1))
    assert [part.file for part in late.slices] == [COPY]
    assert [part.file for part in late.earlier] == [f"hooks/{SESSION}.jsonl", COPY]
    found = gathered(settings.spool, to_slices(late.slices), earlier=to_slices(late.earlier))
    assert found.events["text"].to_list() == ["done"] and found.usage["message_id"].to_list() == ["m-1"]
    path.unlink()  # the client deletes its own
    assert open_round(settings, template, RoundRequest(), now=NOW).slices == ()


def test_a_file_that_lost_what_was_taken_of_it_keeps_no_late_transcript_back(tmp_path: Path) -> None:
    settings, template = Settings(home=tmp_path / "home"), Path(__file__).parents[3] / "skill_bank"
    _hooks(settings.spool, "nowhere")
    open_round(settings, template, RoundRequest(), now=NOW)
    put(settings.spool, f"hooks/{SESSION}.jsonl", b"")
    put(settings.spool, COPY, prompt("one"))
    late = open_round(settings, template, RoundRequest(), now=datetime.now(UTC) + timedelta(days=1))
    assert [part.file for part in late.slices] == [COPY] and late.earlier == ()


def test_the_doctor_is_told_of_old_transcripts_without_a_copy(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    path = _client(tmp_path, prompt("go"))
    captured = _hooks(spool, path)
    file = spool / captured[0].file
    os.utime(file, (NOW.timestamp(), NOW.timestamp()))
    assert uncopied(spool, NOW + timedelta(days=19)) == []
    assert uncopied(spool, NOW + timedelta(days=21)) == [path]
    copy_transcripts(spool, captured)
    assert uncopied(spool, NOW + timedelta(days=21)) == []
