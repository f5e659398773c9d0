"""Faults from the hook to the frame: writers at once, killed ones, broken input, fuzzed lines."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from agent_evo_dagster.capture.importer import import_sessions
from tests.agent_evo_dagster.capture.spools import T0, Spool, legacy, record

ROOT = Path(__file__).parents[3]
HOOK = ROOT / "hooks" / "capture.py"
BARE = [os.path.realpath(sys.executable), "-I", "-S"]
SIZES = [1, 200, 3_000, 200, 20_000, 1, 200, 3_000]
LARGEST = 400_000  # each 40th record

# A client's process that writes many events: what the hook does with each, without a start for each.
WRITER = """
import importlib.util, json, os, sys, time
spec = importlib.util.spec_from_file_location("capture", sys.argv[1])
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
folder, writer, each, sizes, largest = sys.argv[2], *map(json.loads, sys.argv[3:])
for n in range(each):
    size = largest if n % 40 == 39 else sizes[(n + writer) % len(sizes)]
    event = {"session_id": "s-1", "hook_event_name": "Stop", "writer": writer, "n": n, "text": "x" * size}
    data = json.dumps(event, separators=(",", ":")).encode()
    name, record = hook.plain_record(time.time_ns(), data)
    if not hook.append(folder, name, record) and not hook.append_fallback(folder, record):
        hook.count_loss(folder)
    os.closerange(3, 16)  # the hook leaves its files to the end of its process
"""


@pytest.mark.parametrize(
    ("writers", "each"),
    [(16, 50), pytest.param(64, 1_000, marks=[pytest.mark.slow, pytest.mark.timeout(1_500)])],
)
def test_writers_at_once_lose_and_tear_nothing(spool: Spool, writers: int, each: int) -> None:
    sizes, folder = json.dumps(SIZES), str(spool.path / "hooks")
    running = [
        subprocess.Popen(
            [*BARE, "-c", WRITER, str(HOOK), folder, str(writer), str(each), sizes, str(LARGEST)]
        )
        for writer in range(writers)
    ]
    assert [process.wait(timeout=1_200) for process in running] == [0] * writers
    result = spool.read()
    assert result.quarantine.is_empty() and not (spool.path / "hooks" / "_lost").exists()
    found = [json.loads(extra) for extra in result.events["extra"]]
    assert Counter((event["writer"], event["n"]) for event in found) == {
        (writer, n): 1 for writer in range(writers) for n in range(each)
    }
    for event in found:
        n = event["n"]
        size = LARGEST if n % 40 == 39 else SIZES[(n + event["writer"]) % len(SIZES)]
        assert event["text"] == "x" * size


def test_of_killed_writers_every_whole_record_is_read_and_every_torn_one_counted(spool: Spool) -> None:
    killed = 0
    for turn in range(6):
        arguments = [str(HOOK), str(spool.path / "hooks"), str(turn), "100000", json.dumps(SIZES), "400000"]
        process = subprocess.Popen([*BARE, "-c", WRITER, *arguments])
        time.sleep(0.15 + 0.03 * turn)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    subprocess.run(
        [*BARE, "-c", WRITER, str(HOOK), str(spool.path / "hooks"), "99", "3", "[1]", "1"], check=True
    )
    result = spool.read()
    events = [json.loads(extra) for extra in result.events["extra"]]
    assert killed == 6 and result.quarantine.height <= killed
    assert [event["n"] for event in events if event["writer"] == 99] == [0, 1, 2]
    for turn in range(6):  # what a writer wrote before it was killed is there without a gap
        numbers = sorted(event["n"] for event in events if event["writer"] == turn)
        assert numbers == list(range(len(numbers)))


BROKEN_INPUTS = {
    "null for a tool input": b'{"session_id":"s","hook_event_name":"PreToolUse","tool_input":null}',
    "a list for a tool input": b'{"session_id":"s","hook_event_name":"PreToolUse","tool_input":[1]}',
    "a number for a session": b'{"session_id":7,"hook_event_name":"Stop"}',
    "half a character": b'{"session_id":"s","hook_event_name":"Stop","a":"\\ud800"}',
    "bytes that are not UTF-8": b'{"session_id":"s","hook_event_name":"Stop","a":"\xff"}',
    "cut JSON": b'{"session_id":"s","hook_event_name":"St',
    "a NUL in the session": b'{"session_id":"a\\u0000b","hook_event_name":"Stop"}',
    "a long session": b'{"session_id":"' + b"x" * 300 + b'","hook_event_name":"Stop"}',
    "a path for a session": b'{"session_id":"../../../../x","hook_event_name":"Stop"}',
    "NaN": b'{"session_id":"s","hook_event_name":"Stop","loss":NaN}',
    "no object": b"[1,2]",
    "text": b"hello",
}
NO_EVENTS = {"bytes that are not UTF-8", "cut JSON", "no object", "text"}


def test_every_kind_of_broken_input_is_an_event_or_is_set_aside_with_its_reason(spool: Spool) -> None:
    for data in BROKEN_INPUTS.values():
        command = [*BARE, str(HOOK), "--spool", str(spool.path)]
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    result = spool.read()
    assert result.events.height == len(BROKEN_INPUTS) - len(NO_EVENTS)
    assert result.quarantine.height == len(NO_EVENTS) and (result.quarantine["reason"] != "").all()
    assert {"7", "a\0b", "x" * 300, "../../../../x"} <= set(result.events["session_id"])


def fuzzed(seed: int) -> bytes:
    """One line that was a record once: cut, spliced, with bytes changed, doubled, or left as it was."""
    chance = random.Random(seed)
    line = (legacy if chance.random() < 0.3 else record)(seed, note='é\u2028\\"{}[]' * chance.randrange(4))
    for _ in range(chance.randrange(4)):
        cut = chance.randrange(len(line) + 1)
        match chance.randrange(6):
            case 0:
                line = line[:cut]
            case 1:
                line = line[:cut] + chance.randbytes(chance.randrange(1, 6)) + line[cut:]
            case 2:
                line = line[:cut] + record(seed + 10**6) + line[cut:]
            case 3:
                line = line[cut:] + line[:cut]
            case 4:
                line = (
                    line[:cut]
                    + chance.choice([b'"', b"\\", b"{", b"}", b"\\u", b"NaN", b"1e999"])
                    + line[cut:]
                )
            case _:
                line += record(seed + 2 * 10**6)
    return line.replace(b"\n", b" ")


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_of_fuzzed_lines_every_one_is_accounted_for(spool: Spool, count: int) -> None:
    lines = [fuzzed(seed) for seed in range(count)]
    spool.write(b"\n".join(lines) + b"\n")
    result = spool.read()  # checks the law of accounting
    assert result.lines == sum(1 for line in lines if line.strip())
    assert result.events.height > count / 3 and result.quarantine.height > count / 10
    assert spool.read().events.equals(result.events)


@pytest.mark.parametrize(
    "tail", ["日".encode()[:1], "日".encode()[:2], "🙂".encode()[:3], b"\\", b'"', b"\\u12"]
)
def test_a_tail_torn_anywhere_costs_only_itself_when_writing_goes_on(spool: Spool, tail: bytes) -> None:
    torn = b'{"captured_at":%d,"hook":{"session_id":"s-1","hook_event_name":"Stop","x":"' % T0 + tail
    path = spool.write(record(1) + b"\n" + torn)
    command = [*BARE, str(HOOK), "--spool", str(spool.path)]
    data = b'{"session_id":"s-1","hook_event_name":"Stop"}'
    subprocess.run(command, input=data, check=True, timeout=30)
    result = spool.read()
    assert path.read_bytes().count(b"\n") == 3 and result.events.height == 2
    assert result.quarantine["length"].to_list() == [len(torn)]


def test_the_samples_are_read_alike_on_a_spool_that_was_copied(spool: Spool, tmp_path: Path) -> None:
    import_sessions(ROOT / "samples", spool.path)
    other = Spool(tmp_path / "copy")
    import_sessions(ROOT / "samples", other.path)
    assert spool.read().events.equals(other.read().events)
