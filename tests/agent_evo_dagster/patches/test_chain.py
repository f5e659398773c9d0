"""The chained file: it grows, survives torn ends, and shows every edit."""

import json
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.chain import GENESIS, canonical, read_chain, writing

payloads = st.lists(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=5).filter(lambda k: k not in ("prev", "hash")),
        st.one_of(st.text(st.characters(codec="utf-8"), max_size=8), st.integers(), st.none(), st.booleans()),
        max_size=3,
    ),
    min_size=1,
    max_size=5,
)


def fill(path, entries):
    for entry in entries:
        with writing(path) as writer:
            writer.append(entry)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.jsonl"


@pytest.fixture
def filled(path):
    fill(path, [{"n": 1}, {"n": 2}, {"n": 3}])
    return path


@settings(max_examples=40, deadline=None)
@given(payloads)
def test_what_is_appended_is_read_back_chained(entries):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        fill(path, entries)
        chain = read_chain(path)
    assert [
        {k: v for k, v in entry.items() if k not in ("prev", "hash")} for entry in chain.entries
    ] == entries
    assert [entry["prev"] for entry in chain.entries] == [
        GENESIS,
        *(entry["hash"] for entry in chain.entries[:-1]),
    ]
    assert chain.torn == b""


@settings(max_examples=60, deadline=None)
@given(payloads, st.data())
def test_no_byte_of_a_finished_record_changes_unseen(entries, data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        fill(path, entries)
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 2))
        content[place] ^= data.draw(st.integers(1, 127))
        path.write_bytes(content)
        with pytest.raises(DecisionError, match="Record"):
            read_chain(path)


@settings(max_examples=40, deadline=None)
@given(payloads, st.data())
def test_a_file_cut_anywhere_keeps_its_whole_records(entries, data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        fill(path, entries)
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        assert len(read_chain(path).entries) == whole
        fill(path, [{"after": "the cut"}])
        assert len(read_chain(path).entries) == whole + 1


def test_a_missing_file_is_empty_and_is_not_made_by_reading(path):
    assert read_chain(path).entries == ()
    assert not path.exists()


def test_a_torn_end_is_moved_aside_and_reported(filled, caplog):
    whole = filled.read_bytes()
    filled.write_bytes(whole + b'{"n": 4, "pre')
    chain = read_chain(filled)
    assert (len(chain.entries), chain.torn) == (3, b'{"n": 4, "pre')
    with caplog.at_level(logging.WARNING):
        fill(filled, [{"n": 5}])
    assert filled.read_bytes().startswith(whole)
    assert [entry["n"] for entry in read_chain(filled).entries] == [1, 2, 3, 5]
    assert filled.with_suffix(".torn").read_bytes() == b'{"n": 4, "pre\n'
    assert "never finished" in caplog.text


def test_a_whole_record_without_its_newline_was_not_acknowledged(filled):
    filled.write_bytes(filled.read_bytes()[:-1])
    assert len(read_chain(filled).entries) == 2


@pytest.mark.parametrize("gone", [0, 1])
def test_a_removed_record_is_named(filled, gone):
    lines = filled.read_bytes().splitlines(keepends=True)
    del lines[gone]
    filled.write_bytes(b"".join(lines))
    with pytest.raises(DecisionError, match=f"Record {gone + 1} of .*the record before"):
        read_chain(filled)


def test_swapped_records_are_seen(filled):
    first, second, third = filled.read_bytes().splitlines(keepends=True)
    filled.write_bytes(first + third + second)
    with pytest.raises(DecisionError, match="Record 2"):
        read_chain(filled)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"hash": 1}',
        b'{"hash": "x"}',
        b"\xff",
        b"[" * 100_000,
        b'{"a":NaN,"hash":"x"}',
    ],
)
def test_a_line_that_is_no_record_stops_reading_and_writing(filled, line):
    filled.write_bytes(filled.read_bytes() + line + b"\n")
    with pytest.raises(DecisionError, match="Record 4"):
        read_chain(filled)
    with pytest.raises(DecisionError, match="Record 4"):
        fill(filled, [{"n": 5}])


def test_the_same_content_written_otherwise_is_an_edit(filled):
    lines = filled.read_bytes().splitlines()
    lines[1] = json.dumps(json.loads(lines[1])).encode()
    filled.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DecisionError, match="Record 2"):
        read_chain(filled)


def test_a_duplicate_key_is_an_edit(filled):
    lines = filled.read_bytes().splitlines()
    lines[2] = lines[2].replace(b'"n":3', b'"n":4,"n":3')
    filled.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DecisionError, match="Record 3"):
        read_chain(filled)


def test_numbers_that_json_lacks_are_not_written(path):
    with writing(path) as writer, pytest.raises(ValueError, match="JSON"):
        writer.append({"n": float("nan")})
    assert canonical({"b": 1, "a": "ä"}) == '{"a":"ä","b":1}'.encode()
