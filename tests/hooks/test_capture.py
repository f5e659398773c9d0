"""The capture hook as Claude Code runs it: a process with an event on stdin."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

HOOKS = Path(__file__).parents[2] / "hooks"
PYTHON = os.path.realpath(sys.executable)


def start(
    *arguments: str,
    cwd: Path,
    script: str = "capture.py",
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [*prefix, PYTHON, "-I", "-S", str(HOOKS / script), *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=environment or {})


def capture(spool: Path, data: bytes, **options: object) -> None:
    """Run the hook, and insist that the agent would not notice."""
    process = start("--spool", str(spool), cwd=spool.parent, **options)  # type: ignore[arg-type]
    assert process.communicate(data, timeout=30) == (b"", b"")
    assert process.returncode == 0


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def event(session: object = "s-1", **fields: object) -> dict[str, object]:
    return {"session_id": session, "hook_event_name": "PostToolUse", "tool_name": "Bash", **fields}


def encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def test_an_event_is_one_line_with_the_stdin_verbatim(spool: Path) -> None:
    data = encode(event(tool_response={"stdout": "é\u2028 {}\\"}))
    before = time.time_ns()
    capture(spool, data + b"\n")
    line = (spool / "hooks" / "s-1.jsonl").read_bytes()
    at = records(spool / "hooks" / "s-1.jsonl")[0]["captured_at"]
    assert line == f'{{"captured_at":{at},"hook":'.encode() + data + b"}\n"
    assert isinstance(at, int) and before <= at <= time.time_ns()


def test_what_is_captured_is_private_and_ignored_by_git(spool: Path) -> None:
    capture(spool, encode(event()))
    assert (spool / "hooks" / "s-1.jsonl").stat().st_mode & 0o077 == 0
    assert (spool / "hooks" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "session",
    [
        "../../../../etc/x",
        "/abs",
        "..",
        ".",
        "_fallback",
        "a/b",
        "a\0b",
        "x" * 300,
        "",
        7,
        ["a"],
        {"a": 1},
        "é",
        "\ud800",
    ],
)
def test_an_odd_session_id_never_becomes_a_path_and_is_kept_in_the_record(
    spool: Path, session: object
) -> None:
    capture(spool, json.dumps(event(session)).encode())
    (path,) = (spool / "hooks").glob("*.jsonl")
    assert path.name.startswith("_id-")
    assert records(path)[0]["hook"] == event(session)
    assert sorted(p.name for p in spool.parent.iterdir()) == ["spool"]


def test_events_without_a_session_are_kept_together(spool: Path) -> None:
    capture(spool, encode(event(None)))
    capture(spool, b'{"hook_event_name":"Stop"}')
    capture(spool, b'{"session_id":null,"transcript_path":"x","hook_event_name":"Stop"}')
    assert len(records(spool / "hooks" / "_no-session.jsonl")) == 3


@pytest.mark.parametrize("tool_input", [None, [], [1], "text", 3, True])
def test_any_shape_of_tool_input_is_captured(spool: Path, tool_input: object) -> None:
    capture(spool, encode(event(tool_input=tool_input)))
    assert records(spool / "hooks" / "s-1.jsonl")[0]["hook"] == event(tool_input=tool_input)


def test_nan_is_stored_as_valid_json(spool: Path) -> None:
    capture(spool, b'{"session_id":"s-1","tool_response":{"loss":NaN,"up":Infinity,"text":"NaN"}}')
    line = (spool / "hooks" / "s-1.jsonl").read_bytes()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    hook = json.loads(line, parse_constant=refuse)["hook"]
    assert hook["tool_response"] == {"loss": "NaN", "up": "Infinity", "text": "NaN"}


def test_line_breaks_between_tokens_and_a_byte_order_mark_do_no_harm(spool: Path) -> None:
    capture(spool, b"\xef\xbb\xbf" + json.dumps(event(), indent=2).replace("\n", "\r\n").encode())
    assert [r["hook"] for r in records(spool / "hooks" / "s-1.jsonl")] == [event()]


@pytest.mark.parametrize(
    "data",
    [
        b'{"session_id":"s-1","x":',
        b"null",
        b"[1]",
        b"\xff\xfe",
        b'{"session_id":"s-1","x":"\xed\xa0\x80"}',
        b"[" * 100_000,
    ],
    ids=["cut", "null", "list", "no UTF-8", "raw surrogate", "nested"],
)
def test_what_is_no_json_object_is_kept_whole_in_the_fallback_file(spool: Path, data: bytes) -> None:
    capture(spool, data)
    (record,) = records(spool / "hooks" / "_fallback.jsonl")
    assert base64.b64decode(str(record["raw_base64"])) == data
    assert record["reason"]


def test_nothing_on_stdin_is_nothing(spool: Path) -> None:
    capture(spool, b"")
    assert not spool.exists()


def test_a_torn_line_gets_its_break_before_the_next_record(spool: Path) -> None:
    (spool / "hooks").mkdir(parents=True)
    (spool / "hooks" / "s-1.jsonl").write_bytes(b'{"captured_at":1,"ho')
    capture(spool, encode(event()))
    first, second = (spool / "hooks" / "s-1.jsonl").read_bytes().splitlines()
    assert first == b'{"captured_at":1,"ho'
    assert json.loads(second)["hook"] == event()


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C"}, {"LC_ALL": "ja_JP.SJIS", "PYTHONIOENCODING": "cp932"}, {"LANG": "POSIX"}]
)
def test_the_locale_makes_no_difference(spool: Path, environment: Mapping[str, str]) -> None:
    data = encode(event(tool_response="日本語 – ü"))
    capture(spool, data, environment=environment)
    assert data in (spool / "hooks" / "s-1.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CLAUDE_PROJECT_DIR": "{}/project"}, "project/.agent_evo/spool"),
        ({"CLAUDE_PROJECT_DIR": "{}/project", "AGENT_EVO_HOME": "{}/home"}, "home/spool"),
        ({"CLAUDE_PROJECT_DIR": "{}/project", "AGENT_EVO_HOME": "own"}, "project/own/spool"),
    ],
)
def test_the_environment_names_the_spool_from_any_folder(
    tmp_path: Path, environment: Mapping[str, str], expected: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    values = {name: value.format(tmp_path) for name, value in environment.items()}
    process = start(cwd=tmp_path / "elsewhere", environment=values)
    assert process.communicate(encode(event()), timeout=30) == (b"", b"")
    assert (tmp_path / expected / "hooks" / "s-1.jsonl").exists()


@pytest.mark.parametrize("script", ["post_tool.py", "on_stop.py"])
def test_the_older_names_capture_too(spool: Path, script: str) -> None:
    capture(spool, encode(event()), script=script)
    assert len(records(spool / "hooks" / "s-1.jsonl")) == 1


def test_a_locked_file_sends_the_record_to_the_fallback_file_in_bounded_time(spool: Path) -> None:
    capture(spool, encode(event()))
    holder = (
        "import fcntl,sys,time; f=open(sys.argv[1],'ab'); fcntl.flock(f,2)\n"
        "print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [PYTHON, "-c", holder, str(spool / "hooks" / "s-1.jsonl")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline() == b"held\n"
        begun = time.monotonic()
        capture(spool, encode(event(tool_name="Read")))
        took = time.monotonic() - begun
        process.kill()
    assert took < 6
    assert [r["hook"] for r in records(spool / "hooks" / "_fallback.jsonl")] == [event(tool_name="Read")]
    assert len(records(spool / "hooks" / "s-1.jsonl")) == 1


def test_stdin_that_is_never_closed_does_not_hold_the_agent_up(spool: Path) -> None:
    spool.parent.mkdir(exist_ok=True)
    process = start("--spool", str(spool), cwd=spool.parent)
    assert process.stdin is not None
    process.stdin.write(b'{"session_id":"s-1",')
    process.stdin.flush()
    assert process.wait(timeout=15) == 0
    (record,) = records(spool / "hooks" / "_fallback.jsonl")
    assert record["reason"] == "stdin was not closed in time"
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream
        stream.close()


def test_on_a_full_disk_no_half_record_stays_and_the_loss_is_counted(spool: Path) -> None:
    capture(spool, encode(event()))
    path = spool / "hooks" / "s-1.jsonl"
    held = path.read_bytes()

    full = ["/bin/sh", "-c", 'ulimit -f 4; exec "$@"', "sh"]  # a file may grow to some 1,000 bytes
    capture(spool, encode(event(tool_response="x" * 50_000)), prefix=full)
    assert path.read_bytes() == held
    assert (spool / "hooks" / "_lost").read_bytes() == b"."
    assert not records_or_torn(spool / "hooks" / "_fallback.jsonl")
    capture(spool, encode(event()))
    assert len(records(path)) == 2


def records_or_torn(path: Path) -> list[bytes]:
    """Lines of a file that are whole."""
    return [line for line in path.read_bytes().split(b"\n")[:-1] if line] if path.exists() else []


def test_a_spool_that_cannot_be_written_is_counted_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file where a folder should be")
    capture(tmp_path / "spool", encode(event()), environment={"TMPDIR": str(tmp_path)})
    assert (tmp_path / f"agent-evo-lost-{os.getuid()}").read_bytes() == b"."


def test_a_link_in_the_place_of_a_session_file_is_not_followed(tmp_path: Path, spool: Path) -> None:
    (spool / "hooks").mkdir(parents=True)
    (tmp_path / "outside").write_text("mine")
    (spool / "hooks" / "s-1.jsonl").symlink_to(tmp_path / "outside")
    capture(spool, encode(event()))
    assert (tmp_path / "outside").read_text() == "mine"
    assert [r["hook"] for r in records(spool / "hooks" / "_fallback.jsonl")] == [event()]


def test_concurrent_writers_lose_and_tear_nothing(spool: Path) -> None:
    writers, each = 8, 50
    sizes = [1, 300, 20_000, 100_000]
    running = []
    for writer in range(writers):
        code = (
            "import json,subprocess,sys\n"
            f"for n in range({each}):\n"
            f"    text = 'x' * {sizes}[(n + {writer}) % {len(sizes)}]\n"
            f"    event = {{'session_id': 's-1', 'writer': {writer}, 'n': n, 'text': text}}\n"
            "    subprocess.run(sys.argv[1:], input=json.dumps(event).encode(), check=True)\n"
        )
        command = [PYTHON, "-I", "-S", str(HOOKS / "capture.py"), "--spool", str(spool)]
        running.append(subprocess.Popen([PYTHON, "-c", code, *command]))
    assert [process.wait(timeout=200) for process in running] == [0] * writers
    found = [record["hook"] for record in records(spool / "hooks" / "s-1.jsonl")]
    fallback = spool / "hooks" / "_fallback.jsonl"
    found += [record["hook"] for record in records(fallback)] if fallback.exists() else []
    expected = {(writer, n) for writer in range(writers) for n in range(each)}
    assert {(hook["writer"], hook["n"]) for hook in found} == expected  # type: ignore[index]
    assert len(found) == writers * each


def test_a_writer_killed_in_the_middle_costs_at_most_its_own_record(spool: Path) -> None:
    for number in range(12):
        process = start("--spool", str(spool), cwd=spool.parent)
        assert process.stdin is not None
        process.stdin.write(encode(event(n=number, tool_response="x" * 60_000)))
        process.stdin.close()
        time.sleep(0.002 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream
            stream.close()
        capture(spool, encode(event(survivor=number)))
    lines = (spool / "hooks" / "s-1.jsonl").read_bytes().split(b"\n")
    survivors = []
    for line in lines:
        try:
            survivors.append(json.loads(line)["hook"].get("survivor"))
        except ValueError:
            continue
    assert [number for number in survivors if number is not None] == list(range(12))
