"""Reading: every line of a spool becomes events or is accounted for."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.importer import import_sessions
from agent_evo_dagster.capture.read import read_slices
from agent_evo_dagster.capture.types import EVENT_SCHEMA, QUARANTINE_SCHEMA, FileSlice
from agent_evo_dagster.errors import CaptureError
from agent_evo_dagster.files import sha256_bytes
from tests.agent_evo_dagster.capture.spools import KEY, T0, Spool, legacy, record

BOM = b"\xef\xbb\xbf"


def test_a_hook_record_fills_the_columns_and_keeps_the_rest(spool: Spool) -> None:
    spool.write(
        record(
            agent_id="a1",
            agent_type="Explore",
            prompt_id="p1",
            tool_input={"command": "ls"},
            tool_response=[1, "é"],
            error="bad",
            duration_ms=40,
            cwd="/home/sam",
            effort={"level": "medium"},
        )
        + b"\n"
    )
    result = spool.read()
    assert result.events.schema == EVENT_SCHEMA and result.quarantine.schema == QUARANTINE_SCHEMA
    row = result.events.row(0, named=True)
    assert row["kind"] == "PostToolUse" and row["tool_use_id"] == "t0" and row["derived"] == []
    assert (row["agent_id"], row["agent_type"], row["prompt_id"]) == ("a1", "Explore", "p1")
    assert (row["tool_input"], row["tool_response"]) == ('{"command":"ls"}', '[1,"é"]')
    assert (row["error"], row["duration_ms"], row["source"]) == ("bad", 40.0, "hook")
    assert json.loads(row["extra"]) == {"cwd": "/home/sam", "effort": {"level": "medium"}}
    assert result.events["at"].cast(pl.Int64).to_list() == [T0]


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("UserPromptSubmit", "prompt"),
        ("UserPromptExpansion", "prompt"),
        ("Stop", "last_assistant_message"),
        ("SubagentStop", "last_assistant_message"),
        ("StopFailure", "last_assistant_message"),
        ("MessageDisplay", "delta"),
    ],
)
def test_words_become_the_text(spool: Spool, kind: str, field: str) -> None:
    spool.write(record(hook_event_name=kind, **{field: "hello"}) + b"\n")
    assert spool.read().events["text"].to_list() == ["hello"]


def test_an_unknown_kind_is_an_event_with_everything_it_said(spool: Spool) -> None:
    spool.write(record(hook_event_name="Brand New", tool_name=None, news=[1, {"a": None}]) + b"\n")
    row = spool.read().events.row(0, named=True)
    assert row["kind"] == "Brand New" and json.loads(row["extra"]) == {"news": [1, {"a": None}]}


def test_what_a_record_carries_beside_the_hook_is_kept(spool: Spool) -> None:
    line = json.loads(record()) | {"event": "PostToolUse", "host": "h"}
    spool.write(json.dumps(line).encode() + b"\n")
    assert json.loads(spool.read().events["extra"][0]) == {"record": {"host": "h"}}


@pytest.mark.parametrize(
    ("at", "nanoseconds"),
    [
        (T0 + 1, T0 + 1),
        (1796173415.111871, 1796173415111871000),
        ("2026-05-27T11:41:57.930424+00:00", 1779882117930424000),
        ("2026-05-27T13:41:57.930424+02:00", 1779882117930424000),
        ("2026-05-27T11:41:57.930424Z", 1779882117930424000),
    ],
)
def test_times_of_every_accepted_form_are_exact(spool: Spool, at: object, nanoseconds: int) -> None:
    spool.write(record(at=at) + b"\n")
    assert spool.read().events["at"].cast(pl.Int64).to_list() == [nanoseconds]


@pytest.mark.parametrize(
    "at", [None, True, 1796173415, -1, 10**30, float("1e300"), "yesterday", [], {}, "9999-01-01"]
)
def test_a_time_that_cannot_be_one_is_quarantined(spool: Spool, at: object) -> None:
    line = json.loads(record()) | {"captured_at": at}
    spool.write(json.dumps(line).encode() + b"\n" + record(1) + b"\n")
    result = spool.read()
    assert result.events.height == 1
    assert "time" in result.quarantine["reason"][0]


BROKEN = [
    b"null",
    b"[]",
    b"123",
    b'"x"',
    b"true",
    b"{}",
    b'{"captured_at":1740000000000000000,"hook":null}',
    b'{"captured_at":1740000000000000000,"hook":[1]}',
    b"not json",
    b'{"captured_at":1740000000000000000,"hook":{"session_id":"s-1","x":"\xff"}}',
    b'{"captured_at":1740000000000000000,"hook":{"session_id":"s-1","tool_in',
    b"\x00\x00\x00",
    b"[" * 50_000,
    b'{"captured_at":1740000000000000000,"hook":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    legacy(timestamp=123),
    legacy(timestamp="soon"),
    legacy(type="unheard of"),
]


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line[:30].decode("utf-8", "replace"))
def test_a_broken_line_is_set_aside_and_the_rest_is_kept(spool: Spool, line: bytes) -> None:
    spool.write(record(1) + b"\n" + line + b"\n" + record(2) + b"\n")
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t1", "t2"]
    row = result.quarantine.row(0, named=True)
    assert (row["source_file"], row["source_offset"]) == ("hooks/s-1.jsonl", len(record(1)) + 1)
    assert row["length"] == len(line) and row["reason"]
    assert (result.lines, result.recovered) == (3, 0)


def test_a_byte_order_mark_is_set_aside_and_its_record_recovered(spool: Spool) -> None:
    spool.write(BOM + record() + b"\n" + record(1) + b"\n")
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t0", "t1"]
    assert "byte order mark" in result.quarantine["reason"][0]
    assert result.events["source_offset"][0] == len(BOM)


def test_two_records_on_one_line_are_both_recovered(spool: Spool) -> None:
    spool.write(record(1) + record(2) + b"\n" + record(3) + b"\n")
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t1", "t2", "t3"]
    assert (result.lines, result.recovered, result.quarantine.height) == (2, 1, 0)
    assert result.events["source_offset"].to_list()[1] == len(record(1))


@pytest.mark.parametrize("cut", [1, 20, 60, 100])
def test_a_record_within_another_or_after_a_torn_one_is_recovered(spool: Spool, cut: int) -> None:
    outer = record(1, text='{"captured_at":1} is only text here')
    spool.write(outer[:cut] + record(2) + outer[cut:] + b"\n" + outer[:cut] + record(3) + b"\n")
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t2", "t3"]
    assert result.quarantine["length"].to_list() == [len(outer), cut]


def test_a_torn_multibyte_tail_before_a_record_costs_only_itself(spool: Spool) -> None:
    torn = '{"captured_at":1,"hook":{"x":"日'.encode()[:-1]
    spool.write(torn + b"\n" + record(1) + b"\n" + torn + record(2) + b"\n")
    result = spool.read()
    assert result.events["tool_use_id"].to_list() == ["t1", "t2"]
    assert result.quarantine["length"].to_list() == [len(torn), len(torn)]


def test_nan_and_lone_surrogates_are_read(spool: Spool) -> None:
    hook = '{"session_id":"s-1","hook_event_name":"Stop","loss":NaN,"up":-Infinity,"name":"\\ud800é"}'
    spool.write(f'{{"captured_at":{T0},"hook":{hook}}}\n'.encode())
    extra = json.loads(spool.read().events["extra"][0])
    assert extra == {
        "loss": "NaN",
        "up": "-Infinity",
        "name": "\ufffdé" if len(extra["name"]) == 2 else extra["name"],
    }


def test_what_the_hook_kept_as_bytes_is_counted_with_its_reason(spool: Spool) -> None:
    line = json.dumps({"captured_at": T0, "reason": "not a JSON object", "raw_base64": "bnVsbA=="})
    spool.write(line.encode() + b"\n\n" + record() + b"\n", "hooks/_fallback.jsonl")
    result = spool.read()
    assert result.events.height == 1 and result.lines == 2
    assert "not a JSON object" in result.quarantine["reason"][0]


def test_two_different_events_with_one_time_are_both_kept(spool: Spool) -> None:
    spool.write(record(at=T0, tool_use_id="a") + b"\n" + record(at=T0, tool_use_id="b") + b"\n")
    assert spool.read().events["event_id"].n_unique() == 2


def test_equal_records_at_two_times_are_two_events_and_at_one_time_one(spool: Spool) -> None:
    lines = [
        record(at=T0, tool_use_id="a"),
        record(at=T0 + 1, tool_use_id="a"),
        record(at=T0, tool_use_id="a"),
    ]
    spool.write(b"\n".join(lines) + b"\n")
    result = spool.read()
    assert result.events["event_id"].n_unique() == result.events.height == 2
    assert "repeats" in result.quarantine["reason"][0]


def test_reading_again_and_reading_a_grown_file_give_the_same_ids(spool: Spool) -> None:
    spool.write(record(1) + b"\n" + record(2, tool_use_id=None) + b"\n")
    first = spool.read().events
    assert spool.read().events.equals(first)
    spool.write(record(3) + b"\n")
    assert spool.read().events.head(2).equals(first)


def test_a_call_without_an_id_gets_one_that_both_of_its_ends_share(spool: Spool) -> None:
    call = {"tool_use_id": None, "tool_input": {"command": "ls"}}
    kinds = ["PreToolUse", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure", "PostToolUse"]
    spool.write(b"".join(record(n, hook_event_name=kind, **call) + b"\n" for n, kind in enumerate(kinds)))
    events = spool.read().events
    ids = events["tool_use_id"].to_list()
    assert ids[1] == ids[2] and ids[3] == ids[4] and ids[0] == ids[5] and len(set(ids)) == 3
    assert events["derived"].to_list() == [["tool_use_id"]] * 6


def test_kinds_that_name_no_call_get_no_id(spool: Spool) -> None:
    spool.write(record(hook_event_name="PermissionRequest", tool_use_id=None) + b"\n")
    assert spool.read().events["tool_use_id"].to_list() == [None]


@pytest.mark.parametrize(("session", "expected"), [(None, "file"), (7, "7"), (["a"], '["a"]')])
def test_a_session_id_that_is_no_text_is_derived_and_marked(
    spool: Spool, session: object, expected: str
) -> None:
    spool.write(record(session_id=session) + b"\n", "hooks/file.jsonl")
    row = spool.read().events.row(0, named=True)
    assert (row["session_id"], row["derived"]) == (expected, ["session_id"])


def test_events_of_the_older_layout_have_derived_identities_and_no_wrong_layer(spool: Spool) -> None:
    lines = [legacy(0), legacy(1, type="turn_end", tool_name=None, tool_input=None, tool_response=None)]
    lines += [legacy(2, type="conversation_end", conversation_id="old:sub", tool_name=None)]
    spool.write(b"\n".join(lines), "legacy/old/events.jsonl")
    events = spool.read().events
    assert events["kind"].to_list() == ["PostToolUse", "Stop", "SubagentStop"]
    assert events["derived"].to_list() == [["tool_use_id"], [], []]
    assert events["layer"].to_list() == ["unknown"] * 3 and events["source"].to_list() == ["legacy"] * 3
    assert json.loads(events["extra"][0]) == {"conversation_id": "old", "layer": "rllm"}


def test_the_layer_of_a_session_comes_from_its_skills(spool: Spool) -> None:
    skill = {"tool_name": "Skill", "tool_input": {"skill": "rllm-config"}}
    command = {"hook_event_name": "UserPromptExpansion", "command_name": "traj-optimize", "session_id": "s-2"}
    spool.write(record(1) + b"\n" + record(2, **skill) + b"\n" + record(3, **command) + b"\n")
    events = spool.read().events
    assert events["layer"].to_list() == ["rllm", "rllm", "traj"]


def test_secrets_are_gone_from_every_column_and_equal_ones_stay_equal(spool: Spool) -> None:
    secret = "ghp_" + "a1B2" * 9
    fields = {
        "tool_input": {"command": f"GH={secret} gh pr list"},
        "error": f"bad {secret}",
        "cwd": f"/{secret}",
    }
    spool.write(record(prompt=secret, session_id=secret, **fields) + b"\n" + secret.encode() + b"\n")
    result = spool.read()
    everything = str(result.events.rows()) + str(result.quarantine.rows())
    assert secret not in everything and secret[:12] not in everything
    row = result.events.row(0, named=True)
    assert row["text"].startswith("<redacted:github_token:") and row["text"] in row["tool_input"]


def test_a_secret_is_gone_from_an_excerpt_before_it_is_cut(spool: Spool) -> None:
    secret = "sk-ant-" + "Ab1-" * 20
    spool.write(b'"' + b"x" * 170 + b"\\n" + secret.encode() + b"\n")
    excerpt = spool.read().quarantine["excerpt"][0]
    assert "sk-ant" not in excerpt and len(excerpt) <= 200


def test_the_id_is_of_the_redacted_record_so_that_it_proves_no_guess(spool: Spool) -> None:
    spool.write(record(prompt="password=hunter22") + b"\n")
    one = spool.read()
    (part,) = [FileSlice("hooks/s-1.jsonl", 0, len(record(prompt="password=hunter22")) + 1, "", ())]
    data = (spool.path / part.file).read_bytes()
    other = read_slices(
        spool.path, [FileSlice(part.file, 0, part.end, sha256_bytes(data), ())], key=b"another key"
    )
    assert one.events["event_id"][0] != other.events["event_id"][0]


def test_a_slice_of_a_changed_shrunk_or_missing_file_is_refused(spool: Spool) -> None:
    data = record() + b"\n"
    path = spool.write(data)
    part = FileSlice("hooks/s-1.jsonl", 0, len(data), sha256_bytes(data), ())
    for content in (data[:-2], data.replace(b"Bash", b"bASH")):
        path.write_bytes(content)
        with pytest.raises(CaptureError, match="have changed"):
            read_slices(spool.path, [part], key=KEY)
    path.unlink()
    with pytest.raises(CaptureError, match="is gone"):
        read_slices(spool.path, [part], key=KEY)


@pytest.mark.parametrize("file", ["../x.jsonl", "/etc/passwd", "hooks/../../x", "a\0b"])
def test_a_slice_outside_of_the_spool_is_refused(spool: Spool, file: str) -> None:
    with pytest.raises(CaptureError, match="not inside the spool"):
        read_slices(spool.path, [FileSlice(file, 0, 1, "", ())], key=KEY)


def test_nothing_to_read_is_two_empty_frames(spool: Spool) -> None:
    result = read_slices(spool.path, [], key=KEY)
    assert result.events.schema == EVENT_SCHEMA and result.events.is_empty() and result.lines == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
HOOK_FIELDS = st.dictionaries(
    st.sampled_from(["session_id", "hook_event_name", "tool_name", "tool_use_id", "tool_input", "agent_id"])
    | st.sampled_from(["tool_response", "error", "duration_ms", "prompt", "delta", "extra"]),
    JSON,
    max_size=5,
)
RECORDS = st.builds(
    lambda at, hook: json.dumps({"captured_at": at, "hook": hook}).encode(),
    st.just(T0) | st.integers(T0, T0 + 10**6) | JSON,
    HOOK_FIELDS,
)
PIECES = st.one_of(
    RECORDS,
    RECORDS.map(lambda line: line[: len(line) // 2]),
    st.binary(max_size=40),
    JSON.map(lambda v: json.dumps(v).encode()),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.tuples(PIECES, st.sampled_from([b"\n", b"\n", b"\r\n", b""])), max_size=12))
def test_whatever_is_in_a_file_every_line_is_accounted_for(
    tmp_path: Path, pieces: list[tuple[bytes, bytes]]
) -> None:
    data = b"".join(piece + end for piece, end in pieces)
    (tmp_path / "f.jsonl").write_bytes(data)
    part = FileSlice("f.jsonl", 0, len(data), sha256_bytes(data), ())
    result = read_slices(tmp_path, [part], key=KEY)
    assert result.lines == sum(1 for line in data.split(b"\n") if line.strip())
    assert result.lines + result.recovered == result.events.height + result.quarantine.height
    assert result.recovered >= 0
    assert read_slices(tmp_path, [part], key=KEY).events.equals(result.events)


def test_the_real_sessions_are_read_without_a_loss(spool: Spool, shared: Callable[[str], Path]) -> None:
    import_sessions(shared("agent_sessions"), spool.path)
    result = spool.read()
    assert (result.lines, result.events.height, result.quarantine.height) == (3131, 3131, 0)
    assert result.events["session_id"].n_unique() == 40
    assert result.events["event_id"].n_unique() == 3131


def test_all_hook_recordings_are_read_without_a_loss(spool: Spool, shared: Callable[[str], Path]) -> None:
    folder = shared("claude_code/hooks")
    import_sessions(folder, spool.path)
    result = spool.read()
    recorded = [
        json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()
    ]
    assert result.lines == result.events.height == len(recorded) == 161
    assert sorted(result.events["kind"]) == sorted(line["event"] for line in recorded)
    ids = {line["hook"].get("tool_use_id") for line in recorded} - {None}
    assert set(result.events["tool_use_id"].drop_nulls()) == ids
    assert result.events["derived"].list.len().sum() == 0
