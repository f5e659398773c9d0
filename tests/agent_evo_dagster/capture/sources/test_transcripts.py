"""Tests of transcripts as a source: what each line becomes, and that every line is accounted for."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.capture.sources.transcripts import Transcripts, target_of
from agent_evo_dagster.capture.types import EVENT_SCHEMA, USAGE_SCHEMA
from tests.agent_evo_dagster.capture.transcripts import KEY, call, line, prompt, result, said, transcript


def _events(tmp_path: Path, *lines: bytes) -> pl.DataFrame:
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, *lines)], key=KEY)
    assert reading.events.schema == EVENT_SCHEMA
    assert reading.usage.schema == USAGE_SCHEMA
    return reading.events


def test_kinds_are_those_of_the_hooks(tmp_path: Path) -> None:
    events = _events(
        tmp_path,
        prompt("please"),
        said({"type": "thinking", "thinking": ""}),
        said({"type": "text", "text": "I look."}, call("c1", command="ls")),
        result("c1", toolUseResult={"stdout": "x", "interrupted": False}),
        said(call("c2", "Edit")),
        result("c2", "<tool_use_error>String not found</tool_use_error>", is_error=True),
        said(call("c3")),
        result("c3", "not allowed", is_error=True, permissionDecision={"decision": "reject"}),
        said(call("c4")),
        result("c4", "rejected", is_error=True, toolDenialKind="user-rejected"),
        said(call("c5")),
        result("c5", "Exit code 1", is_error=True),
    )
    assert events.select("kind", "tool_use_id").rows() == [
        ("UserPromptSubmit", None),
        ("MessageDisplay", None),
        ("PreToolUse", "c1"),
        ("PostToolUse", "c1"),
        ("PreToolUse", "c2"),
        ("PostToolBatch", "c2"),
        ("PreToolUse", "c3"),
        ("PermissionDenied", "c3"),
        ("PreToolUse", "c4"),
        ("PostToolUseFailure", "c4"),
        ("PreToolUse", "c5"),
        ("PostToolUseFailure", "c5"),
    ]
    broken_off, failed = (json.loads(extra)["is_interrupt"] for extra in events["extra"].gather([9, 11]))
    assert (broken_off, failed) == (True, False)
    assert events["tool_name"].drop_nulls().to_list() == ["Bash"] * 2 + ["Edit"] * 2 + ["Bash"] * 6
    assert events["source"].unique().to_list() == ["transcript"]


def test_an_expanded_command_is_told_from_a_command_of_the_client(tmp_path: Path) -> None:
    expanded = (
        "<command-message>demo</command-message>\n<command-name>/demo</command-name>\n"
        "<command-args>one two</command-args>"
    )
    events = _events(
        tmp_path,
        prompt(expanded),
        prompt("<command-name>/compact</command-name>\n<command-message>compact</command-message>"),
        prompt("<local-command-stdout>done</local-command-stdout>"),
    )
    assert events.select("kind", "text").rows() == [("UserPromptExpansion", "/demo one two")]
    told = json.loads(events["extra"][0])
    assert (told["command_name"], told["command_args"]) == ("demo", "one two")


def test_lines_that_are_no_events_are_counted_by_kind(tmp_path: Path) -> None:
    lines = [
        prompt("hidden", isMeta=True),
        prompt("summary", isCompactSummary=True),
        prompt("[Request interrupted by user]"),
        said({"type": "thinking", "thinking": "hm"}),
        line("attachment", attachment={}),
        line("attachment", attachment={"n": 2}),
        line("system", subtype="turn_duration"),
        line("a kind nobody knows <script>"),
    ]
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, *lines)], key=KEY)
    assert reading.events.is_empty()
    assert reading.passed == {
        "assistant/thinking": 1,
        "attachment": 2,
        "other": 1,
        "system/turn_duration": 1,
        "user/compact_summary": 1,
        "user/harness": 1,
        "user/meta": 1,
    }


def test_broken_and_repeated_lines_are_quarantined(tmp_path: Path) -> None:
    good = prompt("go")
    lines = [good, good, b"null\n", b"[]\n", b'{"a":\n', b"\xff\n", b'{"sessionId":"s-1"}\n']
    lines += [line("user", message={"content": "no time"}, timestamp=5), b"[" * 5000 + b"\n"]
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, *lines)], key=KEY)
    assert reading.events.height == 1
    assert reading.lines == 9
    assert reading.quarantine.height == 8


@pytest.mark.parametrize("torn", [b"", b'{"parentUuid": null, "type": "us', "日".encode()[:2]])
def test_records_that_writers_put_on_one_line_are_recovered(tmp_path: Path, torn: bytes) -> None:
    inner = {"type": "text", "text": 'a {"type": "user", "sessionId": "x"} in words'}
    spliced = torn + prompt("one").strip() + said(inner).strip() + b"\n"
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, prompt("first"), spliced)], key=KEY)
    assert reading.events["text"].to_list() == ["first", "one", inner["text"]]
    assert reading.usage["message_id"].to_list() == ["m-1"]
    assert reading.quarantine["length"].to_list() == ([len(torn)] if torn else [])
    offsets = reading.events["source_offset"].to_list()
    assert offsets == sorted(set(offsets))


def test_a_record_within_another_is_recovered_and_what_it_tore_is_counted(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    outer, within = said({"type": "text", "text": "long"}).strip(), prompt(f"key {secret}").strip()
    line_ = outer[:90] + within + outer[90:] + b"\n"
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, line_)], key=KEY)
    assert reading.events["text"].str.starts_with("key <redacted:").to_list() == [True]
    assert reading.quarantine["reason"].str.contains("1 whole records in it were recovered").all()
    assert reading.quarantine["length"].to_list() == [len(outer)]


def test_secrets_do_not_leave_the_spool(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    reading = Transcripts().read(
        tmp_path, [transcript(tmp_path, prompt(f"use {secret}"), b"{" + secret.encode() + b"\n")], key=KEY
    )
    written = reading.events.write_json() + reading.quarantine.write_json()
    assert secret not in written
    assert "<redacted:github_token:" in written


def test_usage_counts_a_message_once_and_its_last_line_wins(tmp_path: Path) -> None:
    lines = [
        said({"type": "text", "text": "a"}, output=1),
        said(call("c1"), output=2, attributionSkill="demo"),
        said(call("c2"), output=7),
        said({"type": "text", "text": "b"}, message="m-2", output=3),
    ]
    usage = Transcripts().read(tmp_path, [transcript(tmp_path, *lines)], key=KEY).usage
    assert usage.select("message_id", "output_tokens", "skill").rows() == [
        ("m-1", 7, "demo"),
        ("m-2", 3, None),
    ]
    assert usage["tool_use_ids"].to_list() == [["c1", "c2"], []]
    assert usage["cache_read_tokens"].sum() == 200


@pytest.mark.parametrize("hostile", ["../../x", "/abs", "a\0b", "x" * 300])
def test_no_id_becomes_a_path(hostile: str) -> None:
    target = target_of(hostile, Path("/somewhere/agent-../x.jsonl"))
    assert target.startswith("transcripts/_id-")
    assert ".." not in Path(target).parts


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "id", "content", "usage", "tool_use_id", "is_error", "name", "input"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image"])},
    optional={
        "text": JSON,
        "id": JSON,
        "tool_use_id": JSON,
        "content": JSON,
        "is_error": JSON,
        "input": JSON,
    },
)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["user", "assistant", "system", "attachment"]) | JSON,
        "sessionId": st.text(max_size=5) | JSON,
        "timestamp": st.just("2026-03-01T10:00:00Z") | JSON,
        "message": st.fixed_dictionaries(
            {"content": st.lists(BLOCK, max_size=3) | JSON},
            optional={"id": JSON, "usage": JSON, "model": JSON},
        )
        | JSON,
        "toolUseResult": JSON,
        "permissionDecision": JSON,
        "subtype": JSON,
    },
)
LINE = RECORD.map(lambda record: json.dumps(record).encode()) | st.binary(max_size=40)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINE, max_size=6))
def test_any_line_is_events_or_quarantined_or_counted(tmp_path: Path, lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    told = [one for one in data.split(b"\n") if one.strip()]
    reading = Transcripts().read(tmp_path, [transcript(tmp_path, data)], key=KEY)
    with_events = reading.events["source_offset"].n_unique()
    assert reading.lines == len(told)
    assert with_events + reading.quarantine.height + sum(reading.passed.values()) == len(told)
    assert reading.events["event_id"].n_unique() == reading.events.height
